#!/bin/sh
# Installs below a temporary folder, then checks that the command runs from
# there, that it has its manual pages and completions, and that a C program builds
# and links against what was installed.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
dest=$(mktemp -d)
trap 'rm -rf "$dest"' EXIT
fail() { echo "test-install: $*" >&2; exit 1; }

make -s -C "$root" install DESTDIR="$dest" PREFIX=/opt/cmpi
prefix=$dest/opt/cmpi
"$prefix/bin/cmpi" version | grep -q "$(cat "$root/build/VERSION")" || fail "cmpi version does not say $(cat "$root/build/VERSION")"
grep -q '^prefix=/opt/cmpi$' "$prefix/lib/pkgconfig/cmpi.pc" || fail "cmpi.pc has another prefix"

"$prefix/bin/cmpi" info --json | grep -q "\"library\": \"$prefix/lib/libcmpi.so\"" || fail "the command does not find the library beside it"

# Every command has a page, the completions know the commands, and every shell
# that is here takes its one.
for command in $("$prefix/bin/cmpi" __complete '' 2>/dev/null | sed -n 's/^\([a-z]*\)	.*/\1/p'); do
	case $command in completion | help) continue ;; esac
	page=$prefix/share/man/man1/cmpi-$command.1
	[ -s "$page" ] || fail "there is no manual page cmpi-$command"
	pages="${pages-} $page"
done
[ -n "${pages-}" ] || fail "the command completes nothing"
for page in cmpi.1 cmpi-pool-init.1; do
	grep -q '^\.TH "CMPI' "$prefix/share/man/man1/$page" || fail "$page is not a manual page"
done
for file in bash-completion/completions/cmpi zsh/site-functions/_cmpi fish/vendor_completions.d/cmpi.fish; do
	shell=${file%%[-/]*}
	grep -q __complete "$prefix/share/$file" || fail "$file does not ask the command"
	if command -v "$shell" >/dev/null; then
		"$shell" -n "$prefix/share/$file" || fail "$shell does not take $file"
	fi
done

for header in "$prefix"/include/*.h; do
	name=$(basename "$header")
	printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$name" "$name" >"$dest/t.c"
	gcc -std=c99 -Wall -Wextra -Werror -pedantic -I"$prefix/include" "$dest/t.c" -L"$prefix/lib" -Wl,--no-as-needed -lcmpi -o "$dest/t" ||
		fail "a program with $name does not build"
	LD_LIBRARY_PATH="$prefix/lib" "$dest/t" || fail "a program with $name does not run"
done
echo "test-install: ok"
