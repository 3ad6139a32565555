#!/usr/bin/env bash
#
#   clean_root.sh PACKAGE.deb [FOLDER]    installs the package with apt in a new minimal Debian 12 and runs models there.
#
# For releases; see root.sh for what it needs. The new root (FOLDER, by default a temporary folder) is removed at the end.

set -euo pipefail
source "$(dirname "$0")/root.sh"

package=$(readlink -f "$1")
root=${2:-$(mktemp -d)}
trap 'remove_root "$root"' EXIT

new_root "$root"
cp "$package" "$root/carom.deb"
inside "$root" apt-get -q update
inside "$root" apt-get -q -y install --no-install-recommends /carom.deb

inside "$root" sh -ec 'cd /tmp
carom --version
for model in brick four_bar elastic_bar mixed; do carom run -q /usr/share/carom/models/$model.json -o $model; done
carom check /usr/share/carom/models/cube_gmsh.json >/dev/null
carom run -v /usr/share/carom/models/landing_plate.json -o plate --until 2e-3 2>&1 | grep -i blas
carom sweep /usr/share/carom/models/bouncing_ball.json --vary /contacts/0/restitution=0.5,0.7 -o sweep
grep -h status */summary.json'
# what the package recommends and suggests: plots, and the Python package
inside "$root" apt-get -q -y install --no-install-recommends gnuplot-nox python3 python3-numpy
inside "$root" sh -ec 'cd /tmp
carom plot brick x -q -o x.pdf
carom report brick -q -o brick.html
python3 -c "import carom; print(len(carom.Results(\"brick\").probes), carom.find_program())"
ls -s x.pdf brick.html'
inside "$root" apt-get -q -y remove carom
if [[ -e $root/usr/bin/carom ]]; then
  echo "the program is still there after its removal" >&2
  exit 1
fi
if [[ -e $root/usr/lib/python3/dist-packages/carom ]]; then
  echo "the removal leaves files of the Python package" >&2
  exit 1
fi
echo "installed, run and removed in a clean root"
