#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds everything for 32 bit or with musl, where Debian has no libraries for
# the stores without another architecture's packages.
#
#     tools/build_for.sh 32bit|musl BUILD [argument of meson compile]...
#
# All is compiled, with this machine's headers of those libraries, and linked
# without them: their functions are at no address, so a test that calls one
# crashes. What runs is what needs memory and files.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath -m "$2")
case $1 in
32bit) export CC='gcc -m32 -static' ;;
musl) export CC='musl-gcc -static' ;;
*)
    echo "usage: tools/build_for.sh 32bit|musl BUILD" >&2
    exit 2
    ;;
esac
shift 2

# As pkg-config and the linker find it: headers, and libraries with nothing in.
bare=$build/bare
headers=/usr/include
mkdir -p "$bare/include/openssl"
for name in sqlite3 libmariadb hiredis libpq openssl; do
    {
        pkg-config --cflags-only-I "$name" | sed 's/^/Cflags: /'
        printf 'Name: %s\nDescription: headers\nVersion: %s\n' "$name" \
            "$(pkg-config --modversion "$name")"
    } >"$bare/$name.pc"
done
ar rc "$bare/libzookeeper_mt.a" # it has no .pc file
ln -sfn "$headers"/{sqlite3.h,hiredis,zookeeper,linux,asm-generic} \
    "$headers/$(gcc -print-multiarch)/asm" "$bare/include"
ln -sfn "$headers"/openssl/*.h "$headers/$(gcc -print-multiarch)"/openssl/*.h \
    "$bare/include/openssl"
if [ ! -f "$build/build.ninja" ]; then
    PKG_CONFIG_LIBDIR=$bare meson setup "$build" -Dwerror=true \
        -Dbuildtype=plain "-Dc_args=-idirafter $bare/include" \
        "-Dc_link_args=-L$bare -Wl,--unresolved-symbols=ignore-all"
fi
meson compile -C "$build" bare "$@"
