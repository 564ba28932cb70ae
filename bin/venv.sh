# Sourced by bin/up, bin/test, bin/bench, bin/messages and bin/mutate: makes .venv and installs a requirements file when it changed.
# POSIX sh and python3, nothing else.

VENV=.venv

fail() {
    echo "$*" >&2
    exit 1
}

# is_supported PYTHON: whether it is there and is one of the versions that Tideline runs on.
is_supported() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null
}

# find_python: sets python to the first supported one, the user's own choice ($PYTHON) before all.
find_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_supported "$PYTHON" || fail "PYTHON=$PYTHON is not a Python 3.11, 3.12 or 3.13."
        python=$PYTHON
        return
    fi
    for python in python3 python3.13 python3.12 python3.11; do
        if is_supported "$python"; then return; fi
    done
    found=$(python3 --version 2>/dev/null) || found="no python3"
    fail "Tideline needs Python 3.11, 3.12 or 3.13; found: $found." \
        "Install one, or name it: PYTHON=/path/to/python3.12 $0"
}

# make_venv: makes .venv unless a whole one of a supported Python is there.
make_venv() {
    if [ -x $VENV/bin/pip ] && is_supported $VENV/bin/python; then return; fi
    find_python
    "$python" -c 'import venv, ensurepip' 2>/dev/null || fail \
        "$("$python" --version) has no venv module. On Debian and Ubuntu: apt-get install python3-venv"
    echo "Making the virtual environment in $VENV ($("$python" --version)) ..." >&2
    log=$("$python" -m venv --clear $VENV 2>&1) || fail "The virtual environment cannot be made: $(reason "$log")"
}

# install FILE: installs a requirements file, unless the copy of what was last installed is the same. They name each other.
install() {
    installed=$VENV/installed-$1
    if cat requirements*.txt 2>/dev/null | cmp -s - "$installed"; then return; fi
    echo "Installing the packages of $1 (about a minute) ..." >&2
    log=$($VENV/bin/python -m pip install --quiet --disable-pip-version-check --no-input -r "$1" 2>&1) \
        || fail "The packages cannot be installed: $(reason "$log")"
    cat requirements*.txt > "$installed"
}

# reason LOG: what stands in the way, in one sentence with the remedy if it is a usual thing.
reason() {
    case $1 in
        *"No space left"*) echo "the disk is full. Make room and start again." ;;
        *"Permission denied"* | *"Read-only file system"*)
            echo "$PWD cannot be written. Start as the user to whom it belongs." ;;
        *"Failed to establish a new connection"* | *"name resolution"* | *NameResolutionError* | *ConnectTimeout* \
            | *"Network is unreachable"* | *ProxyError* | *"timed out"* | *"Connection refused"*)
            echo "the package index cannot be reached. Connect to the network (or set PIP_INDEX_URL) and start again." ;;
        *)
            # Python's own message for a full disk does not say so
            if [ "$(df -Pk . | awk 'NR == 2 { print $4 }')" -lt 20000 ]; then
                echo "the disk is full. Make room and start again."
            else
                echo "$1" | tail -n 5
            fi
            ;;
    esac
}
