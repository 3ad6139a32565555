#!/bin/sh
# Runs a model and opens its series in ParaView.
#
#   check_paraview.sh CAROM_PROGRAM MODEL.json WORKDIR
#
# Leaves the results, picture.png and view.png in WORKDIR. Exit code 77: skipped, because ParaView's Python or a display is missing.
#
# On Debian 12, python3-paraview conflicts with python3-vtk9, which libvtk9-dev needs: installing it removes VTK's headers.
# So "./carom test" unpacks the package in build/paraview. PVPYTHON may name another ParaView 5.11 or later.

if [ $# -ne 3 ]; then
  echo "usage: $0 CAROM_PROGRAM MODEL.json WORKDIR" >&2
  exit 2
fi
program=$1 model=$2 directory=$3
here=$(cd "$(dirname "$0")" && pwd)
pvpython=$here/../../build/paraview/bin/pvpython
[ -x "$pvpython" ] || pvpython=pvpython
pvpython=${PVPYTHON:-$pvpython}

for tool in "$pvpython" xvfb-run xauth; do
  if ! command -v "$tool" >/dev/null 2>&1; then
    echo "skipped: $tool not found (./carom test provides it where it can)"
    exit 77
  fi
done

mkdir -p "$directory" || exit 1
"$program" run "$model" -o "$directory/results" -q || {
  echo "error: $program run $model failed with exit code $?"
  exit 1
}
series=
for file in "$directory"/results/*.pvd; do
  [ -z "$series" ] || { echo "error: more than one PVD file in $directory/results"; exit 1; }
  series=$file
done
[ -f "$series" ] || { echo "error: no PVD file in $directory/results"; exit 1; }

rm -f "$directory/picture.png"
# without -noreset the server restarts when its last client leaves, and the next client may come too early
timeout 300 xvfb-run -a -s "-screen 0 1280x1024x24 -noreset" "$pvpython" "$here/paraview_render.py" "$series" "$directory/picture.png" \
  >"$directory/paraview.log" 2>&1
code=$?
cat "$directory/paraview.log"
[ $code -eq 0 ] || { echo "error: ParaView ended with exit code $code"; exit 1; }
[ -s "$directory/picture.png" ] || { echo "error: no picture"; exit 1; }
# ParaView's readers report errors only in the log.
if grep -E 'ERR\||ERROR:' "$directory/paraview.log" >/dev/null; then
  echo "error: ParaView reported errors"
  exit 1
fi

# The script beside the series renders a picture, too, with parts by name, and writes a scene and named blocks.
rm -rf "$directory/view.png" "$directory/scene.gltf" "$directory/blocks"
mkdir "$directory/blocks"
timeout 300 xvfb-run -a -s "-screen 0 1280x1024x24 -noreset" "$pvpython" "$directory/results/view.py" --png "$directory/view.png" \
  --time 0.4 --size 640,400 --gltf "$directory/scene.gltf" --blocks "$directory/blocks/b.pvd" >"$directory/view.log" 2>&1
code=$?
cat "$directory/view.log"
[ $code -eq 0 ] || { echo "error: view.py ended with exit code $code"; exit 1; }
[ -s "$directory/view.png" ] || { echo "error: no picture by view.py"; exit 1; }
grep -q '"meshes"' "$directory/scene.gltf" || { echo "error: no scene with meshes by view.py"; exit 1; }
grep -q 'name="bodies/' "$directory/blocks/b_000000.vtm" || { echo "error: no named blocks by view.py"; exit 1; }
[ "$(grep -c '<DataSet' "$directory/blocks/b.pvd")" = "$(grep -c '<DataSet' "$series")" ] || {
  echo "error: the series of blocks has another number of frames"
  exit 1
}
if grep -E 'ERR\||ERROR:|error:' "$directory/view.log" >/dev/null; then
  echo "error: view.py reported errors"
  exit 1
fi
