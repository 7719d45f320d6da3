#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs what is missing to build, test or check Holdfast on Debian.
#
#     tools/setup.sh build|test|ci
#
# If nothing is missing it does nothing. It asks apt first what it would do
# and stops if a package would be removed. No service is started: a
# policy-rc.d forbids it meanwhile and is put back as it was. No database
# cluster is made: a file forbids that meanwhile. On a system without apt it
# names what is missing.
set -euo pipefail

build=(gcc libc6-dev meson ninja-build pkg-config libsqlite3-dev
    libmariadb-dev libhiredis-dev libpq-dev libssl-dev libzookeeper-mt-dev)
# The servers without what would make them services: mariadb-server-core has
# mariadbd, mariadb-client-core a tool that mariadb-install-db calls, and
# redis-tools the server's binary as redis-check-rdb, which by another name is
# redis-server: the package of that name would add a link and a service.
# galera-4 is one library, which makes a server a node of a cluster.
# ZooKeeper is one of the classes in libzookeeper-java; the package of its name
# would add scripts, and a JRE with windows.
# PostgreSQL and PgBouncer come as services only; see install_packages().
testing=(python3 g++ binutils sqlite3 procps util-linux libuv1-dev
    mariadb-server-core mariadb-client-core galera-4 redis-tools openssl
    libzookeeper-java default-jre-headless postgresql pgbouncer)
ci=(clang clang-format clang-tidy cppcheck libclang-rt-14-dev
    valgrind libc6-dbg
    libc6-dev-i386 lib32gcc-12-dev musl-tools)

clusters=/etc/postgresql-common/createcluster.d/holdfast-setup.conf

say() {
    echo "setup: $*"
}

# Without dpkg only the tools can be looked for.
name_missing() {
    local missing=()
    local tool library
    declare -A tools=([build]="cc meson ninja pkg-config"
        [test]="cc meson ninja pkg-config python3 c++ nm sqlite3
                mariadb-install-db redis-server redis-cli openssl java
                pgbouncer"
        [ci]="cc meson ninja pkg-config python3 c++ nm sqlite3
              mariadb-install-db redis-server redis-cli openssl java
              pgbouncer clang clang-format clang-tidy cppcheck valgrind
              musl-gcc")
    declare -A libraries=([sqlite3]="SQLite 3"
        [libmariadb]="MariaDB Connector/C"
        [hiredis]="hiredis"
        [libpq]="PostgreSQL's libpq"
        [openssl]="OpenSSL")

    for tool in ${tools[$1]}; do
        command -v "$tool" >/dev/null || missing+=("$tool")
    done
    for library in sqlite3 libmariadb hiredis libpq openssl; do
        if command -v pkg-config >/dev/null &&
            ! pkg-config --exists "$library"; then
            missing+=("the development files of ${libraries[$library]}")
        fi
    done
    if command -v cc >/dev/null &&
        ! cc -E -include zookeeper/zookeeper.h -x c /dev/null >/dev/null 2>&1
    then
        missing+=("the development files of ZooKeeper's C client")
    fi
    if [ "$1" != build ] && [ ! -e /usr/lib/galera/libgalera_smm.so ]; then
        missing+=("Galera 4 as /usr/lib/galera/libgalera_smm.so")
    fi
    if [ "$1" != build ] && ! command -v initdb >/dev/null &&
        ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
        missing+=("the server of PostgreSQL")
    fi
    if [ "$1" != build ] && [ ! -e /usr/share/java/zookeeper.jar ]; then
        missing+=("ZooKeeper as /usr/share/java/zookeeper.jar")
    fi
    if ((${#missing[@]})); then
        printf 'setup: this is no Debian; please install: %s\n' \
            "$(printf '%s, ' "${missing[@]}" | sed 's/, $//')" >&2
        exit 1
    fi
    exit 0
}

# Prints the given packages that are not installed.
missing_of() {
    local installed

    installed=$(dpkg-query -W -f='${db:Status-Abbrev}${Package}\n' "$@" \
        2>/dev/null | sed -n 's/^ii *//p') || true
    printf '%s\n' "$@" | grep -vxF -e "$installed" || true
}

forbid_services() {
    policy=/usr/sbin/policy-rc.d
    saved=$policy.holdfast-saved
    exec 9>/run/lock/holdfast-setup.lock
    flock 9
    trap restore EXIT
    trap 'exit 130' INT TERM HUP
    # A setup that was killed leaves ours, and a saved one if there was one.
    if grep -qs '^# holdfast-setup$' "$policy"; then
        rm "$policy"
    elif [ -e "$policy" ]; then
        mv "$policy" "$saved"
    fi
    printf '#!/bin/sh\n# holdfast-setup\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    say "services will not be started ($policy)"
}

# As pg_createcluster(1) has it: what PostgreSQL's package looks at before it
# makes a cluster "main", which it would start with each boot.
forbid_clusters() {
    mkdir -p "${clusters%/*}"
    echo 'create_main_cluster = false' >"$clusters"
    say "no cluster will be made ($clusters)"
}

restore() {
    if [ -e "$clusters" ]; then
        rm "$clusters"
        rmdir --ignore-fail-on-non-empty -p "${clusters%/*}"
        say "$clusters is gone"
    fi
    rm -f "$policy"
    if [ -e "$saved" ]; then
        mv "$saved" "$policy"
    fi
    say "$policy is as it was"
}

# As root. Everything else is checked; this changes the system.
install_packages() {
    local plan removed
    local options=(-y --no-install-recommends --no-remove
        -o DPkg::Lock::Timeout=120)

    export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
    forbid_services
    say "apt-get update"
    apt-get update -qq || say "apt-get update failed; trying what is known"
    if ! plan=$(apt-get install -s -y --no-install-recommends "$@" 2>&1); then
        printf '%s\n' "$plan" >&2
        say "stopped: apt can't install these; nothing was changed" >&2
        return 1
    fi
    removed=$(sed -n 's/^Remv \([^ ]*\).*/\1/p' <<<"$plan")
    if [ -n "$removed" ]; then
        say "stopped: apt would remove" $removed "; nothing was changed" >&2
        return 1
    fi
    say "apt-get install" $(sed -n 's/^Inst \([^ ]*\).*/\1/p' <<<"$plan")
    if [[ " $* " == *' postgresql '* ]]; then
        forbid_clusters
    fi
    apt-get install -qq "${options[@]}" "$@" >/dev/null
    # Its package has it started with each boot.
    if [[ " $* " == *' pgbouncer '* ]]; then
        update-rc.d pgbouncer disable ||
            say "pgbouncer may be started with each boot"
    fi
}

main() {
    local wanted missing sudo=

    case ${1:-} in
    build) wanted=("${build[@]}") ;;
    test) wanted=("${build[@]}" "${testing[@]}") ;;
    ci) wanted=("${build[@]}" "${testing[@]}" "${ci[@]}") ;;
    --install)
        shift
        install_packages "$@"
        return
        ;;
    *)
        echo "usage: tools/setup.sh build|test|ci" >&2
        exit 2
        ;;
    esac
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null
    then
        name_missing "$1"
    fi
    missing=$(missing_of "${wanted[@]}")
    if [ -z "$missing" ]; then
        return
    fi
    say "missing:" $missing
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            say "please install them as root: apt-get install" $missing >&2
            exit 1
        fi
        sudo=sudo
    fi
    $sudo bash "$0" --install $missing
    say "done"
}

main "$@"
