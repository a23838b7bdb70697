# Sourced by the scripts beside it, which set `root` to the checkout's folder first.
# Holds what they share: messages, Debian packages, and the private environment in .venv.
# shellcheck shell=sh

say() {
    printf '== %s\n' "$*" >&2
}

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# install_debian WHY PACKAGE...: installs as root, or ends with the exact command that somebody else must run.
install_debian() {
    why=$1
    shift
    commands="apt-get update && apt-get install --yes --no-install-recommends $*"
    command -v apt-get >/dev/null || fail "$why Please install what Debian calls: $*"
    [ "$(id -u)" -eq 0 ] || fail "$why Please run this as root first: $commands"
    say "$why Installing Debian packages: $*"
    (
        # Installing openssh-server would open a door on every address of this machine, and postgresql would make a
        # database and start it. The tests run their own daemons on loopback, so no package may start one here.
        policy=/usr/sbin/policy-rc.d
        made=
        trap 'rm -f $made' EXIT
        trap 'exit 130' INT TERM
        if [ ! -e "$policy" ]; then
            made=$policy
            printf '#!/bin/sh\nexit 101\n' >"$policy"
            chmod 755 "$policy"
        fi
        case " $* " in
            *" postgresql "*)
                clusters=/etc/postgresql-common/createcluster.d/sshfacts-tests.conf
                made="$made $clusters"
                mkdir -p "${clusters%/*}"
                echo 'create_main_cluster = false' >"$clusters"
                ;;
        esac
        export DEBIAN_FRONTEND=noninteractive
        apt-get update --quiet=2 || say "apt-get update failed; going on with the package lists that are here"
        apt-get install --quiet=2 --yes --no-install-recommends "$@" </dev/null >&2
    ) || fail "apt-get could not install: $*"
}

# need_debian PACKAGE...: sees to it that these are installed. Elsewhere than on Debian it only names them.
need_debian() {
    if ! command -v dpkg-query >/dev/null; then
        say "Not a Debian machine: the tests need what Debian calls $*"
        return
    fi
    missing=
    for package in "$@"; do
        status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) || status=absent
        [ "$status" = installed ] || missing="$missing $package"
    done
    # shellcheck disable=SC2086  # a list of package names
    [ -z "$missing" ] || install_debian "The tests need$missing." $missing
}

# first_python CODE: sets `python` to the first Python that runs CODE without an error. PYTHON names another one to try.
first_python() {
    for python in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        "$python" -c "$1" >/dev/null 2>&1 && return
    done
    return 1
}

# find_python: sets `python` to one that is new enough and can make environments; installs what is missing for that.
find_python() {
    recent='import sys; sys.exit(sys.version_info < (3, 11))'
    usable="import ensurepip, venv; $recent"
    first_python "$usable" && return
    if first_python "$recent"; then
        packages=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    else
        packages="python3 python3-venv"
    fi
    # shellcheck disable=SC2086  # a list of package names
    install_debian "sshfacts needs Python 3.11 or newer with the modules venv and ensurepip." $packages
    first_python "$usable" || fail "The newest Python here is older than 3.11. Install one and set PYTHON to its path."
}

# fingerprint LOCK: what an environment is made of. The checkout's path is part of it, because a copied .venv
# still runs the code of the checkout that it was made in.
fingerprint() {
    { printf '%s\n' "$root" && cat "$root/$1" "$root/pyproject.toml"; } | sha256sum
}

pip_install() {
    "$root/.venv/bin/python" -m pip --quiet --quiet --disable-pip-version-check --no-input install "$@"
}

# make_environment LOCK [LARGER_LOCK]: sees to it that .venv holds exactly the packages of LOCK and this checkout.
# An environment that was made of LARGER_LOCK will do, so that demo and test can share one.
make_environment() {
    venv=$root/.venv
    for lock in "$@"; do
        if [ "$(cat "$venv/made-of" 2>/dev/null)" = "$(fingerprint "$lock")" ] && "$venv/bin/python" -c ''; then
            return
        fi
    done
    find_python
    say "Making .venv from $1 with $("$python" --version), once; this takes about a minute."
    "$python" -m venv --clear "$venv"
    pip_install --require-hashes --only-binary :all: --requirement "$root/$1" ||
        fail "pip could not install $1, which is made for Python 3.11 to 3.14 on Linux."
    pip_install --no-deps --no-build-isolation --editable "$root"
    fingerprint "$1" >"$venv/made-of"
}
