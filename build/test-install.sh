#!/bin/sh
# Installs below a temporary folder, then checks that the command runs from
# there and that a C program builds and links against what was installed.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
dest=$(mktemp -d)
trap 'rm -rf "$dest"' EXIT
fail() { echo "test-install: $*" >&2; exit 1; }

make -s -C "$root" install DESTDIR="$dest" PREFIX=/opt/cmpi
prefix=$dest/opt/cmpi
"$prefix/bin/cmpi" version | grep -q "$(cat "$root/build/VERSION")" || fail "cmpi version does not say $(cat "$root/build/VERSION")"
grep -q '^prefix=/opt/cmpi$' "$prefix/lib/pkgconfig/cmpi.pc" || fail "cmpi.pc has another prefix"

for header in "$prefix"/include/*.h; do
	name=$(basename "$header")
	printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$name" "$name" >"$dest/t.c"
	gcc -std=c99 -Wall -Wextra -Werror -pedantic -I"$prefix/include" "$dest/t.c" -L"$prefix/lib" -Wl,--no-as-needed -lcmpi -o "$dest/t" ||
		fail "a program with $name does not build"
	LD_LIBRARY_PATH="$prefix/lib" "$dest/t" || fail "a program with $name does not run"
done
echo "test-install: ok"
