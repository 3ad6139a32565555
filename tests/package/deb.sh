#!/usr/bin/env bash
#
#   deb.sh BUILD WORK    packs BUILD as a Debian package into the folder WORK, unpacks the package and runs what it holds.

set -euo pipefail

build=$1 work=$2
fail() {
  printf 'package: %s\n' "$*" >&2
  exit 1
}

rm -rf "$work"
mkdir -p "$work"
cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/pack" >"$work/cpack.log" 2>&1 ||
  fail "cpack failed: $(tail -n 5 "$work/cpack.log")"
packages=("$work"/pack/*.deb)
[[ ${#packages[@]} == 1 ]] || fail "one package was expected, not ${#packages[@]}"
package=${packages[0]}

# What apt must install beside it. OpenBLAS is linked on purpose, so that no slower BLAS takes its place.
depends=$(dpkg-deb -f "$package" Depends)
for library in libc6 libopenblas libumfpack libcholmod libklu liblz4 libfmt; do
  [[ $depends == *"$library"* ]] || fail "Depends names no $library: $depends"
done
[[ $(dpkg-deb -f "$package" Package) == carom ]] || fail "the package has another name"
# A line with two blanks in front would be shown as it is, not filled.
if dpkg-deb -f "$package" Description | grep -q '^  '; then fail "the description is not one paragraph"; fi
# Scripts of a package must be executable.
[[ $(dpkg-deb --ctrl-tarfile "$package" | tar -tv) == *-rwxr-xr-x*prerm* ]] || fail "the package has no script prerm"

dpkg-deb -x "$package" "$work/unpacked"
usr=$work/unpacked/usr
for file in bin/carom share/man/man1/carom.1 share/carom/schema/carom.schema.json share/carom/models/brick.json \
  share/bash-completion/completions/carom share/doc/carom/LICENSE lib/python3/dist-packages/carom/__init__.py; do
  [[ -s $usr/$file || -s $usr/$file.gz ]] || fail "$file is missing"
done

# The packed program solves a packed model in a folder of its own.
cd "$work"
"$usr/bin/carom" run -q "$usr/share/carom/models/brick.json" -o results >run.log 2>&1 ||
  fail "the packed program failed: $(tail -n 5 run.log)"
grep -q '"status": "completed"' results/summary.json || fail "the run of the packed program did not complete"

# The packed Python package finds the packed program. The mark of its annotations is an empty file.
[[ -e $usr/lib/python3/dist-packages/carom/py.typed ]] || fail "py.typed is missing"
python=$(python3 -c 'import sys; print(sys.executable if sys.version_info >= (3, 11) else "")' 2>/dev/null || true)
if [[ -n $python ]]; then
  found=$(env -u CAROM PATH=/nowhere PYTHONPATH="$usr/lib/python3/dist-packages" "$python" -B -c \
    'import carom, sys; carom.check(sys.argv[1]); print(carom.find_program())' "$usr/share/carom/models/brick.json") ||
    fail "the packed Python package does not run the program"
  [[ $found -ef $usr/bin/carom ]] || fail "the packed Python package found another program: $found"
fi

if [[ -x $usr/bin/carom_gmsh ]]; then
  "$usr/bin/carom" check "$usr/share/carom/models/cube_gmsh.json" >check.log 2>&1 ||
    fail "the packed program reads no mesh from Gmsh: $(tail -n 5 check.log)"
fi
