"""Opens a series in ParaView, checks it and renders a frame.

    xvfb-run -a -s -noreset pvpython paraview_render.py SERIES.pvd OUT.png [--frame N] [--field NAME] [--view iso|x|y|z] [--size W H]

Checks that the time steps are those of the PVD file, finite and increasing; that the frame has points with finite
coordinates, and finite fields; that the picture shows something. Prints the time range and the fields. Exit code 1 and a
message if a check fails.
"""

import argparse
import math
import os
import xml.etree.ElementTree as ElementTree

from paraview import simple as pv
from paraview import servermanager
from vtkmodules.numpy_interface import dataset_adapter
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOImage import vtkPNGReader

import numpy

BACKGROUND = [1.0, 1.0, 1.0]
# Fields for colours; the first that exists and varies is used.
PREFERRED = ["von_mises", "stress", "displacement", "velocity", "gap", "body"]


def fail(message):
    """Ends at once, because ParaView may abort when it ends with an open view."""
    print("error: " + message, flush=True)
    os._exit(1)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("series")
    parser.add_argument("picture")
    parser.add_argument("--frame", type=int, default=-1, help="number of the frame; negative from the end")
    parser.add_argument("--field", help="colour by this point or cell field")
    parser.add_argument("--view", choices=["auto", "iso", "x", "y", "z"], default="auto")
    parser.add_argument("--size", type=int, nargs=2, default=[1000, 700])
    return parser.parse_args()


def open_series(path):
    """The reader and its time steps, compared with the list in the file."""
    listed = [float(entry.get("timestep")) for entry in ElementTree.parse(path).getroot().iter("DataSet")]
    if not listed:
        fail(f"{path} lists no frame")
    reader = pv.PVDReader(FileName=path)
    times = reader.TimestepValues
    times = [times] if isinstance(times, float) else list(times)
    # ParaView has no time steps for a single frame.
    times = times or listed[:1]
    if times != listed:
        fail(f"ParaView finds {len(times)} time steps, the file lists {len(listed)}")
    if not all(math.isfinite(t) for t in times) or any(b <= a for a, b in zip(times, times[1:])):
        fail("the time steps do not increase")
    print(f"{len(times)} time steps from {times[0]:g} to {times[-1]:g}")
    return reader, times


def check_data(reader, time):
    """The fields of one frame as {(association, name): varies}, all checked to be finite."""
    reader.UpdatePipeline(time)
    data = dataset_adapter.WrapDataObject(servermanager.Fetch(reader))
    if data.GetNumberOfPoints() == 0 or data.GetNumberOfCells() == 0:
        fail(f"the frame of t = {time:g} is empty, or its file missing or unreadable")
    points = numpy.asarray(data.Points)
    print(f"t = {time:g}: {data.GetNumberOfPoints()} points, {data.GetNumberOfCells()} cells")
    if not numpy.isfinite(points).all():
        fail("the frame has coordinates that are not finite")
    stored = data.FieldData.keys()
    if "TimeValue" not in stored or data.FieldData["TimeValue"][0] != time:
        fail("the frame's TimeValue is not its time in the list")

    fields = {}
    for association, arrays in [("POINTS", data.PointData), ("CELLS", data.CellData)]:
        for name in arrays.keys():
            values = numpy.asarray(arrays[name])
            if not numpy.isfinite(values).all():
                fail(f"field {name} has values that are not finite")
            size = values if values.ndim == 1 else numpy.linalg.norm(values, axis=-1)
            components = 1 if values.ndim == 1 else values.shape[1]
            print(f"  {association.lower():6} {name} ({components}): {size.min():g} to {size.max():g}")
            fields[association, name] = size.max() > size.min()
    return fields


def colour(representation, fields, wanted):
    """Colours by the requested or a preferred field. Returns whether such a field exists."""
    names = [wanted] if wanted else PREFERRED
    for name in names:
        for association in ["POINTS", "CELLS"]:
            if (association, name) in fields and (wanted or fields[association, name]):
                pv.ColorBy(representation, (association, name))
                representation.RescaleTransferFunctionToDataRange(False, True)
                return True
    if wanted:
        fail(f"no field {wanted}")
    representation.ColorArrayName = ["POINTS", ""]
    representation.DiffuseColor = representation.AmbientColor = [0.6, 0.75, 0.95]
    return False


def show_edges(reader, view):
    """Sharp edges and rims as thin dark lines."""
    edges = pv.Show(pv.FeatureEdges(Input=pv.ExtractSurface(Input=reader)), view)
    edges.ColorArrayName = ["POINTS", ""]
    edges.AmbientColor = edges.DiffuseColor = [0.2, 0.2, 0.2]
    edges.LineWidth = 1


def place_camera(view, reader, choice):
    """Views a flat scene along its thin direction, other scenes obliquely."""
    bounds = reader.GetDataInformation().GetBounds()
    extents = [bounds[1] - bounds[0], bounds[3] - bounds[2], bounds[5] - bounds[4]]
    if choice == "auto":
        thin = min(range(3), key=lambda i: (extents[i], -i))
        choice = "xyz"[thin] if extents[thin] < 0.1 * max(extents) else "iso"
    direction = numpy.array({"x": [1, 0, 0], "y": [0, -1, 0], "z": [0, 0, 1], "iso": [0.5, -0.8, 0.45]}[choice], float)
    up = numpy.array([0, 1, 0] if choice == "z" else [0, 0, 1], float)

    # A parallel projection as near as the bounding box allows.
    right = numpy.cross(up, direction)
    axes = [right / numpy.linalg.norm(right), numpy.cross(direction, right)]
    axes[1] /= numpy.linalg.norm(axes[1])
    width, height = [sum(abs(e * a) for e, a in zip(extents, axis)) for axis in axes]
    center = numpy.array([bounds[0] + bounds[1], bounds[2] + bounds[3], bounds[4] + bounds[5]]) / 2
    distance = 2 * max(numpy.linalg.norm(extents), 1e-300)
    view.CameraFocalPoint = center.tolist()
    view.CameraPosition = (center + distance * direction / numpy.linalg.norm(direction)).tolist()
    view.CameraViewUp = up.tolist()
    view.CameraParallelProjection = 1
    view.CameraParallelScale = 0.5 * 1.3 * max(height, width * view.ViewSize[1] / view.ViewSize[0], 1e-3 * distance)


def check_picture(path):
    """Fails unless enough pixels differ from the background."""
    reader = vtkPNGReader()
    reader.SetFileName(path)
    reader.Update()
    pixels = vtk_to_numpy(reader.GetOutput().GetPointData().GetScalars())[:, :3].astype(float)
    background = 255 * numpy.array(BACKGROUND)
    share = (numpy.abs(pixels - background).max(axis=1) > 8).mean()
    variance = pixels.var(axis=0).max()
    print(f"picture: {100 * share:.2f} % of the pixels drawn, variance {variance:.1f}")
    if share < 1e-4 or variance < 1e-2:
        fail("the picture is empty")


def main():
    options = arguments()
    reader, times = open_series(options.series)
    if not -len(times) <= options.frame < len(times):
        fail(f"no frame {options.frame}")
    time = times[options.frame]
    fields = check_data(reader, time)

    # The view shows only the model.
    view = pv.CreateRenderView()
    view.ViewSize = options.size
    view.UseColorPaletteForBackground = 0
    view.BackgroundColorMode = "Single Color"
    view.Background = BACKGROUND
    view.OrientationAxesVisibility = 0
    view.ViewTime = time
    representation = pv.Show(reader, view)
    representation.Representation = "Surface"
    representation.LineWidth = 3
    representation.PointSize = 8
    coloured = colour(representation, fields, options.field)
    if coloured:
        representation.SetScalarBarVisibility(view, False)
    show_edges(reader, view)
    # The first rendering sets the camera.
    pv.Render(view)
    place_camera(view, reader, options.view)
    pv.Render(view)
    pv.SaveScreenshot(options.picture, view, ImageResolution=options.size)
    check_picture(options.picture)

    # The same with axes, scale and time.
    view.OrientationAxesVisibility = 1
    view.OrientationAxesLabelColor = [0, 0, 0]
    if coloured:
        representation.SetScalarBarVisibility(view, True)
        bar = pv.GetScalarBar(representation.LookupTable, view)
        bar.TitleColor = bar.LabelColor = [0, 0, 0]
    text = pv.Show(pv.Text(Text=f"t = {time:g}"), view)
    text.Color = [0, 0, 0]
    pv.SaveScreenshot(options.picture, view, ImageResolution=options.size)


main()
