#!/usr/bin/env python3
"""Tideline's command line: `python3 manage.py help` lists the verbs."""

import os
import sys
from pathlib import Path

VENV_PYTHON = Path(__file__).resolve().parent / ".venv" / "bin" / "python"


def main() -> None:
    """Run a management command, in the virtual environment that bin/up made if there is one."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
    except ModuleNotFoundError:
        if not VENV_PYTHON.exists() or Path(sys.prefix) == VENV_PYTHON.parent.parent:
            sys.exit("Django is not installed here. Run bin/up once, or: pip install -r requirements.txt")
        os.execv(VENV_PYTHON, [str(VENV_PYTHON), *sys.argv])  # noqa: S606 - no shell is wanted
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"The settings cannot be used: {error}")


if __name__ == "__main__":
    main()
