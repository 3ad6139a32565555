#!/usr/bin/env bash
#
#   clean_root.sh PACKAGE.deb [FOLDER]    installs the package with apt in a new minimal Debian 12 and runs models there.
#
# For releases; needs root, debootstrap and a mirror of Debian: $MIRROR, or the first of this system's sources. The new
# root (FOLDER, by default a temporary folder) is removed at the end.

set -euo pipefail

package=$(readlink -f "$1")
root=${2:-$(mktemp -d)}
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' | head -n 1)}
trap 'rm -rf --one-file-system "$root"' EXIT

debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 || {
  tail -n 5 "$root.log" >&2
  exit 1
}
cp "$package" "$root/carom.deb"
if [[ -d /etc/apt/apt.conf.d ]]; then cp -rn /etc/apt/apt.conf.d "$root/etc/apt/"; fi
inside() { chroot "$root" env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
inside apt-get -q update
inside apt-get -q -y install --no-install-recommends /carom.deb

inside sh -ec 'cd /tmp
carom --version
for model in brick four_bar elastic_bar mixed; do carom run -q /usr/share/carom/models/$model.json -o $model; done
carom check /usr/share/carom/models/cube_gmsh.json >/dev/null
carom run -v /usr/share/carom/models/landing_plate.json -o plate --until 2e-3 | grep -i blas
grep -h status */summary.json'
inside apt-get -q -y remove carom
if [[ -e $root/usr/bin/carom ]]; then
  echo "the program is still there after its removal" >&2
  exit 1
fi
echo "installed, run and removed in a clean root"
