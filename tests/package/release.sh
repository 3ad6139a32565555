#!/usr/bin/env bash
#
#   release.sh ARCHIVE.tar.gz [FOLDER]    builds the archive of a release, without git, in a new minimal Debian 12, by the
#                                         commands of the Dockerfile; installs and runs what came of it.
#
# For releases; takes as long as a build. See root.sh for what it needs. The new roots (FOLDER/build, FOLDER/final; by
# default in a temporary folder) are removed at the end.

set -euo pipefail
source "$(dirname "$0")/root.sh"

archive=$(readlink -f "$1")
folder=${2:-$(mktemp -d)}
build=$folder/build final=$folder/final
trap 'remove_root "$build" "$final" "$folder"' EXIT

# runs_of N DOCKERFILE: the commands of the N-th stage, a line each.
runs_of() { awk -v wanted="$1" '/^FROM/ {stage++} stage == wanted && sub(/^RUN +/, "")' "$2"; }

new_root "$build"
mkdir "$build/source"
tar -xf "$archive" -C "$build/source" --strip-components 1
while read -r command; do inside "$build" sh -ec "$command"; done < <(runs_of 1 "$build/source/Dockerfile")

inside "$build" cmake --install /source/build/package --prefix /opt/carom >/dev/null
inside "$build" sh -ec 'cd /tmp
/opt/carom/bin/carom run -q /opt/carom/share/carom/models/mixed.json -o mixed
/opt/carom/bin/carom check /opt/carom/share/carom/models/cube_gmsh.json >/dev/null
man=/opt/carom/share/man/man1/carom.1; test -s $man -o -s $man.gz
grep -h status mixed/summary.json'

new_root "$final"
cp "$build"/source/build/package/*.deb "$final/tmp/"
while read -r command; do inside "$final" sh -ec "$command"; done < <(runs_of 2 "$build/source/Dockerfile")
mkdir "$final/try"
cp "$build/source/data/models/brick.json" "$final/try/"
inside "$final" sh -ec 'cd /try
carom run -q brick.json
carom plot results/brick x -q
ls -s results/brick/plot.svg results/brick/summary.json'
echo "built from the archive by the commands of the Dockerfile, installed and run in clean roots"
