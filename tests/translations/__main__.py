"""Brings the Chinese catalogue up to date with the code: new texts come in empty, texts that are gone go."""

from tests.translations.catalogue import MO_FILE, PO_FILE, compiled, marked, merged, missing, translated, written


def main() -> None:
    catalogue = merged(marked(), translated())
    PO_FILE.write_bytes(written(catalogue))
    MO_FILE.write_bytes(compiled(catalogue))
    for message in missing(catalogue):
        print(f"Not translated: {message}")


main()
