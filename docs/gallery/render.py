"""Renders one scene of the gallery with ParaView.

    xvfb-run -a -s -noreset pvpython render.py SERIES.pvd SCENE.json OUT.png

A scene says which instants of a series are drawn and how; see scenes.json. "overlay": all instants in one picture, the
earlier ones fainter; "strip", "stack": one beside or below the other, with one camera and one scale of colours.
"tracks" adds paths and curves of coordinates. "stretch" multiplies coordinates. "obstacle_shift" moves obstacles, where contacts
act on the axis of a body and its thickness would reach into them. "every_obstacle" draws the obstacles of all instants, not only
of the last one, for obstacles that move with bodies. "behind" is the distance, in sizes of the model, by which every earlier
instant lies farther from the viewer: set it where bodies of several instants would penetrate each other.
"""

import json
import os
import pathlib
import sys

from paraview import simple as pv
from paraview import servermanager
from vtkmodules.numpy_interface import dataset_adapter
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkImageData
from vtkmodules.vtkIOImage import vtkPNGReader, vtkPNGWriter

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "io" / "results"))
from view import (BODY, DARK, JOINT, OBSTACLE, RED, SPRING, STEEL, STOP, Survey, model_of, show_grid,  # noqa: E402
                  show_shadows, show_tracks, smooth, titles_of)

GREY = [0.62, 0.64, 0.68]


def fail(message):
    """Ends at once, because ParaView may abort when it ends with an open view."""
    print("error: " + message, flush=True)
    os._exit(1)


def nearest(times, wanted):
    """The frames nearest to the requested instants; for a number, so many equally spaced frames."""
    if isinstance(wanted, int):
        wanted = numpy.linspace(times[0], times[-1], wanted)
    return [min(times, key=lambda t: abs(t - w)) for w in wanted]


def part(source, kind):
    """The cells of one kind."""
    cells = pv.Threshold(Input=source, Scalars=["CELLS", "kind"])
    cells.LowerThreshold = kind - 0.5
    cells.UpperThreshold = kind + 0.5
    cells.ThresholdMethod = "Between"
    return cells


def magnitude(data, association, name):
    values = numpy.asarray((data.PointData if association == "POINTS" else data.CellData)[name])
    return values if values.ndim == 1 else numpy.linalg.norm(values, axis=-1)


def survey(reader, instants, field):
    """Bounds of the bodies over all instants, and the range and association of the field."""
    low, high, least, most, place = numpy.full(3, numpy.inf), numpy.full(3, -numpy.inf), numpy.inf, -numpy.inf, None
    title = field
    bodies = part(reader, BODY)
    for t in instants:
        bodies.UpdatePipeline(t)
        data = dataset_adapter.WrapDataObject(servermanager.Fetch(bodies))
        points = numpy.asarray(data.Points)
        low, high = numpy.minimum(low, points.min(axis=0)), numpy.maximum(high, points.max(axis=0))
        if field is None:
            continue
        place = "POINTS" if field in data.PointData.keys() else "CELLS" if field in data.CellData.keys() else None
        if place is None:
            fail(f"no field {field}; there are {data.PointData.keys() + data.CellData.keys()}")
        title = titles_of(data).get(field, field)
        values = magnitude(data, place, field)
        least, most = min(least, values.min()), max(most, values.max())
    least = min(least, 0.0)  # magnitudes begin at zero
    return low, high, (place, field, least, most, title.replace("_", " ")) if field else None


def show(source, view, colouring, opacity, width, colour=None):
    representation = pv.Show(source, view)
    representation.Representation = "Surface"
    representation.LineWidth = width
    representation.PointSize = 18
    representation.RenderLinesAsTubes = 1
    representation.RenderPointsAsSpheres = 1
    representation.Opacity = opacity
    if colouring is None:
        representation.ColorArrayName = ["POINTS", ""]
        representation.DiffuseColor = representation.AmbientColor = colour or GREY
        return representation
    association, name, least, most, _ = colouring
    pv.ColorBy(representation, (association, name))
    table = pv.GetColorTransferFunction(name)
    table.ApplyPreset("Viridis (matplotlib)", True)
    table.RescaleTransferFunction(least, most if most > least else least + 1)
    representation.SetScalarBarVisibility(view, False)
    return representation


def edges(source, view, opacity):
    lines = pv.Show(pv.FeatureEdges(Input=pv.ExtractSurface(Input=source)), view)
    lines.ColorArrayName = ["POINTS", ""]
    lines.AmbientColor = lines.DiffuseColor = [0.15, 0.15, 0.15]
    lines.LineWidth = 1
    lines.Opacity = opacity
    return lines


def add_bar(colouring, view):
    table = pv.GetColorTransferFunction(colouring[1])
    bar = pv.GetScalarBar(table, view)
    bar.Title, bar.ComponentTitle = colouring[4], ""
    bar.TitleColor = bar.LabelColor = [0, 0, 0]
    bar.LabelFormat = bar.RangeLabelFormat = "%.3g"
    bar.AutomaticLabelFormat = 0
    bar.TitleFontSize = bar.LabelFontSize = max(10, view.ViewSize[1] // 50)
    bar.Visibility = 1


def direction_of(scene):
    direction = numpy.array(scene.get("from", [0.5, -0.8, 0.45]), float)
    return direction / numpy.linalg.norm(direction)


def place_camera(view, scene, low, high, bar):
    """A parallel projection that shows the bodies at all instants, with room for a bar of colours on the right."""
    direction = direction_of(scene)
    up = numpy.array(scene.get("up", [0, 0, 1]), float)
    right = numpy.cross(up, direction)
    right /= numpy.linalg.norm(right)
    above = numpy.cross(direction, right)
    extent = high - low
    width, height = (float(numpy.abs(extent) @ numpy.abs(axis)) for axis in (right, above))
    center, far = 0.5 * (low + high), 4 * max(numpy.linalg.norm(extent), 1e-9)
    aspect = view.ViewSize[1] / view.ViewSize[0]
    scale = 0.5 * scene.get("margin", 1.15) * max(height, (1.25 if bar else 1) * width * aspect)
    if bar:
        center = center + 0.1 * scale / aspect * right
    view.CameraFocalPoint = center.tolist()
    view.CameraPosition = (center + far * direction).tolist()
    view.CameraViewUp = above.tolist()
    view.CameraParallelProjection = 1
    view.CameraParallelScale = scale


def picture(reader, model, scene, shown, bounds, colouring, size, path, bar=True):
    """One view with the instants `shown`; the last instant is solid. Earlier ones lie a little farther from the viewer, so
    that surfaces in one plane do not mix."""
    behind = -scene.get("behind", 1e-3) * float(numpy.linalg.norm(bounds[1] - bounds[0])) * direction_of(scene)
    view = pv.CreateRenderView()
    view.ViewSize = size
    view.UseColorPaletteForBackground = 0
    view.BackgroundColorMode = "Single Color"
    view.Background = [1, 1, 1]
    view.OrientationAxesVisibility = 0
    view.UseFXAA = 1
    view.ViewTime = shown[-1]
    for i, t in enumerate(shown):
        frame = pv.ForceTime(Input=reader)
        frame.ForcedTime = t
        frame.IgnorePipelineTime = 1
        fraction = 1.0 if len(shown) == 1 else i / (len(shown) - 1)
        opacity = scene.get("faintest", 0.25) + (1 - scene.get("faintest", 0.25)) * fraction**2
        bodies = part(frame, BODY)
        drawn = [show(smooth(bodies), view, colouring, opacity, scene.get("line_width", 5))]
        for kind, colour in ((JOINT, STEEL), (STOP, RED)):
            drawn.append(show(smooth(part(frame, kind)), view, None, opacity, 3, colour))
        if scene.get("edges", True):
            drawn.append(edges(bodies, view, opacity))
        for representation in drawn:
            representation.Position = ((len(shown) - 1 - i) * behind).tolist()
        show(part(frame, SPRING), view, None, opacity, 2, DARK)
        if "stretch" not in scene:
            show_shadows(pv.ExtractSurface(Input=bodies), view, model, float(numpy.linalg.norm(bounds[1] - bounds[0])), opacity,
                         1 + 0.5 * i)
        last = i == len(shown) - 1
        if not last and not scene.get("every_obstacle"):
            continue
        obstacles = part(frame, OBSTACLE)
        if "obstacle_shift" in scene:
            obstacles = pv.Transform(Input=obstacles)
            obstacles.Transform.Translate = scene["obstacle_shift"]
        show(smooth(obstacles), view, None, scene.get("obstacle_opacity", 0.5) * opacity, 2)
        obstacles.UpdatePipeline(t)
        if servermanager.Fetch(obstacles).GetNumberOfPoints() > 0:
            show_grid(obstacles, view, 0.1 * float(numpy.linalg.norm(bounds[1] - bounds[0])), t)
        if last and colouring and bar:
            add_bar(colouring, view)
    if scene.get("tracks"):
        show_tracks(view, model, Survey(reader, list(reader.TimestepValues)))
    pv.Render(view)  # the first rendering sets the camera
    place_camera(view, scene, *bounds, bool(colouring and bar))
    pv.SaveScreenshot(path, view, ImageResolution=size)
    pv.Delete(view)


def bar_alone(colouring, size, path):
    """A picture of the colour bar, beside instants in pictures of their own."""
    view = pv.CreateRenderView()
    view.ViewSize = size
    view.UseColorPaletteForBackground, view.BackgroundColorMode, view.Background = 0, "Single Color", [1, 1, 1]
    view.OrientationAxesVisibility = 0
    add_bar(colouring, view)
    bar = pv.GetScalarBar(pv.GetColorTransferFunction(colouring[1]), view)
    bar.WindowLocation, bar.Position, bar.ScalarBarLength = "Any Location", [0.15, 0.1], 0.8
    bar.TitleFontSize = bar.LabelFontSize = 16
    pv.Render(view)
    pv.SaveScreenshot(path, view, ImageResolution=size)
    pv.Delete(view)


def join(paths, axis, out, gap=0):
    """The pictures beside (axis 1) or below (axis 0) each other, with a white gap of so many pixels."""
    images = []
    for path in paths:
        image = vtkPNGReader()
        image.SetFileName(path)
        image.Update()
        width, height, _ = image.GetOutput().GetDimensions()
        images.append(vtk_to_numpy(image.GetOutput().GetPointData().GetScalars()).reshape(height, width, -1))
        if gap and path != paths[-1]:
            shape = list(images[-1].shape)
            shape[axis] = gap
            images.append(numpy.full(shape, 255, images[-1].dtype))
    # the rows of an image are ordered from bottom to top
    whole = numpy.ascontiguousarray(numpy.concatenate(images[::-1] if axis == 0 else images, axis=axis))
    data = vtkImageData()
    data.SetDimensions(whole.shape[1], whole.shape[0], 1)
    data.GetPointData().SetScalars(numpy_to_vtk(whole.reshape(-1, whole.shape[2]), deep=True))
    writer = vtkPNGWriter()
    writer.SetFileName(out)
    writer.SetCompressionLevel(9)
    writer.SetInputData(data)
    writer.Write()


def main():
    series, scene_file, out = sys.argv[1:4]
    with open(scene_file, encoding="utf-8") as stream:
        scene = json.load(stream)
    reader = pv.PVDReader(FileName=series)
    times = reader.TimestepValues
    times = [times] if isinstance(times, float) else list(times)
    instants = nearest(times, scene["times"])
    if "stretch" in scene:
        reader = pv.Transform(Input=reader)
        reader.Transform.Scale = scene["stretch"]
    low, high, colouring = survey(reader, instants, scene.get("field"))
    model, bounds = model_of(os.path.dirname(series)), (low, high)
    if scene.get("as", "overlay") == "overlay":
        picture(reader, model, scene, instants, bounds, colouring, scene.get("size", [1600, 1000]), out)
        join([out], 0, out)
    else:
        across = scene["as"] == "strip"
        width, height = scene.get("size", [1600, 530])
        bar_width = 150 if colouring else 0
        gap = 16 if across else 0
        if across:
            size = [(width - bar_width - gap * (len(instants) - 1)) // len(instants), height]
        else:
            size = [width - bar_width, height // len(instants)]
        paths = [f"{out}.{i}.png" for i in range(len(instants) + 1)]
        for t, path in zip(instants, paths):
            picture(reader, model, scene, [t], bounds, colouring, size, path, bar=False)
        join(paths[:-1], 1 if across else 0, out, gap)
        if colouring:
            bar_alone(colouring, [bar_width, height if across else size[1] * len(instants)], paths[-1])
            join([out, paths[-1]], 1, out)
        for path in paths:
            if os.path.exists(path):
                os.remove(path)
    print(f"{out}: {len(instants)} instants, t = {instants[0]:g} to {instants[-1]:g}", flush=True)
    os._exit(0)


main()
