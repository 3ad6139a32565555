# Sourced by the tests that need a new minimal Debian 12; as root, with debootstrap and a mirror of Debian: $MIRROR, or
# the first of this system's sources.

mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' | head -n 1)}

# new_root FOLDER: the root in FOLDER, with this system's settings of apt, and with /proc, in which programs look where
# they are.
new_root() {
  mkdir -p "$1"
  debootstrap --variant=minbase bookworm "$1" "$mirror" >"$1.log" 2>&1 || {
    tail -n 5 "$1.log" >&2
    exit 1
  }
  rm -f "$1.log"
  if [[ -d /etc/apt/apt.conf.d ]]; then cp -rn /etc/apt/apt.conf.d "$1/etc/apt/"; fi
  mount -t proc proc "$1/proc"
}

# remove_root FOLDER...
remove_root() {
  local folder
  for folder; do
    if mountpoint -q "$folder/proc"; then umount "$folder/proc"; fi
    rm -rf --one-file-system "$folder"
  done
}

# inside FOLDER COMMAND...: in the root, with nothing of this system's environment.
inside() {
  chroot "$1" env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "${@:2}"
}
