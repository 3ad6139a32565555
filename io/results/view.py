"""Opens the series of this folder in ParaView in a good view, or renders it.

    paraview --script=view.py                                       interactively
    xvfb-run -a pvpython view.py --png picture.png [--time T]       a picture
    xvfb-run -a pvpython view.py --animation movie.ogv              a film; movie.png: numbered pictures
        [--field NAME] [--from X,Y,Z] [--size W,H] [--frames N] [--series NAME.pvd]

Written by carom beside the series. The pipeline has a part for every body, by its name, and for obstacles, springs, contacts
and arrows of contact forces; obstacles are grey, so that colours show bodies only. The script may be changed freely: carom
writes it again with the next run.
"""

import json
import os
import sys

import numpy
from paraview import servermanager
from paraview import simple as pv
from vtkmodules.numpy_interface import dataset_adapter

BODY, OBSTACLE, CONTACT, SPRING = 0, 1, 2, 3
GREY, DARK = [0.72, 0.74, 0.77], [0.25, 0.25, 0.25]
PREFERRED = ["von_mises", "section_moment", "axial_force", "velocity"]  # the first that varies colours the bodies
MOST_BODIES = 60  # with a part of their own


def part(source, name, field, value):
    """The cells with this value of a cell field, named in the pipeline."""
    cells = pv.Threshold(registrationName=name, Input=source, Scalars=["CELLS", field])
    cells.LowerThreshold, cells.UpperThreshold = value - 0.5, value + 0.5
    cells.ThresholdMethod = "Between"
    return cells


def body_names(folder):
    try:
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as stream:
            return [body["name"] for body in json.load(stream)["bodies"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def fetched(source, time):
    source.UpdatePipeline(time)
    return dataset_adapter.WrapDataObject(servermanager.Fetch(source))


def sizes(data, association, name):
    values = numpy.asarray((data.PointData if association == "POINTS" else data.CellData)[name])
    return values if values.ndim == 1 else numpy.linalg.norm(values, axis=-1)


def survey(bodies, times):
    """Bounds of the bodies over the times, and the range of every field as {(association, name): (least, most)}."""
    low, high, ranges = numpy.full(3, numpy.inf), numpy.full(3, -numpy.inf), {}
    for time in times:
        data = fetched(bodies, time)
        if data.GetNumberOfPoints() == 0:
            continue
        points = numpy.asarray(data.Points)
        low, high = numpy.minimum(low, points.min(axis=0)), numpy.maximum(high, points.max(axis=0))
        for association, arrays in (("POINTS", data.PointData), ("CELLS", data.CellData)):
            for name in arrays.keys():
                values = sizes(data, association, name)
                least, most = ranges.get((association, name), (numpy.inf, -numpy.inf))
                ranges[association, name] = (min(least, values.min()), max(most, values.max()))
    return low, high, ranges


def chosen_field(ranges, wanted):
    """The field for colours and its range; None if nothing varies."""
    for name in [wanted] if wanted else PREFERRED:
        for association in ("POINTS", "CELLS"):
            least, most = ranges.get((association, name), (0, 0))
            if (association, name) in ranges and (wanted or most > least):
                return association, name, least, most if most > least else least + 1
    if wanted:
        names = ", ".join(sorted({name for _, name in ranges}))
        stop(f"no field {wanted}; there are {names}")
    return None


def stop(message):
    """Ends at once, because ParaView may abort when it ends with an open view."""
    print("error: " + message, flush=True)
    os._exit(1)


def show(source, view, colouring=None, colour=GREY, opacity=1.0):
    shown = pv.Show(source, view)
    shown.Representation = "Surface"
    shown.LineWidth, shown.PointSize, shown.Opacity = 4, 9, opacity
    shown.RenderLinesAsTubes = shown.RenderPointsAsSpheres = 1
    if colouring is None:
        shown.ColorArrayName = ["POINTS", ""]
        shown.DiffuseColor = shown.AmbientColor = colour
        return shown
    association, name, least, most = colouring
    pv.ColorBy(shown, (association, name))
    table = pv.GetColorTransferFunction(name)
    table.ApplyPreset("Viridis (matplotlib)", True)
    table.RescaleTransferFunction(least, most)
    return shown


def has_field(body, colouring, times):
    """Whether the body has the field: a stress is zero on rigid bodies, a velocity may be zero anywhere."""
    association, name = colouring[:2]
    return name in ("velocity", "displacement") or any(
        len(values) and values.max() > 0 for values in (sizes(fetched(body, t), association, name) for t in times))


def show_edges(body, view):
    surface = pv.ExtractSurface(registrationName="surface", Input=body)
    lines = show(pv.FeatureEdges(registrationName="edges", Input=surface), view, None, DARK)
    lines.LineWidth, lines.RenderLinesAsTubes = 1.5, 0
    pv.Hide(surface, view)


def show_grid(obstacles, view, spacing, time):
    """Lines of constant x, y and z on the obstacles, about as far apart as told."""
    surface = pv.ExtractSurface(registrationName="surfaces of obstacles", Input=obstacles)
    points = numpy.asarray(fetched(surface, time).Points)
    low, high = points.min(axis=0), points.max(axis=0)
    spacing = max(spacing, float((high - low).max()) / 60)
    power = 10.0 ** numpy.floor(numpy.log10(spacing))
    spacing = power * min((1, 2, 5, 10), key=lambda m: abs(m - spacing / power))
    for axis, name in enumerate("xyz"):
        # off the round numbers, on which planes often lie
        places = numpy.arange(numpy.floor(low[axis] / spacing) + 0.37, high[axis] / spacing) * spacing
        if not len(places) or high[axis] - low[axis] < 1e-3 * spacing:
            continue
        lines = pv.Slice(registrationName=f"grid {name}", Input=surface)
        lines.SliceType = "Plane"
        lines.SliceType.Origin, lines.SliceType.Normal = [0, 0, 0], [float(axis == k) for k in range(3)]
        lines.SliceOffsetValues = places.tolist()
        shown = show(lines, view, None, [0.5, 0.52, 0.55])
        shown.LineWidth, shown.RenderLinesAsTubes = 1, 0
    pv.Hide(surface, view)


def place_camera(view, low, high, direction=None, margin=1.25):
    """A parallel projection of this box; of a flat one nearly along its thin direction."""
    extent = high - low
    thin = int(numpy.argmin(extent))
    if direction is None:
        flat = extent[thin] < 0.1 * extent.max()
        direction = [[1, -0.25, 0.25], [0.2, -1, 0.25], [0.2, -0.25, 1]][thin] if flat else [0.5, -0.8, 0.45]
    direction = numpy.array(direction, float) / numpy.linalg.norm(direction)
    up = numpy.array([0, 1, 0] if abs(direction[2]) > 0.9 else [0, 0, 1], float)
    right = numpy.cross(up, direction)
    right /= numpy.linalg.norm(right)
    above = numpy.cross(direction, right)
    width, height = (float(numpy.abs(extent) @ numpy.abs(axis)) for axis in (right, above))
    center, far = 0.5 * (low + high), 4 * max(numpy.linalg.norm(extent), 1e-9)
    view.CameraFocalPoint = center.tolist()
    view.CameraPosition = (center + far * direction).tolist()
    view.CameraViewUp = above.tolist()
    view.CameraParallelProjection = 1
    view.CameraParallelScale = 0.5 * margin * max(height, width * view.ViewSize[1] / view.ViewSize[0], 1e-3 * far)


def build(folder, series, size, field=None, direction=None):
    """The pipeline and its view; returns view and times."""
    reader = pv.PVDReader(registrationName=os.path.basename(series), FileName=series)
    times = reader.TimestepValues
    times = [times] if isinstance(times, float) else list(times) or [0.0]
    view = pv.CreateRenderView() if size else pv.GetActiveViewOrCreate("RenderView")
    view.ViewSize = size or view.ViewSize
    view.UseColorPaletteForBackground, view.BackgroundColorMode, view.Background = 0, "Single Color", [1, 1, 1]
    view.OrientationAxesLabelColor = [0, 0, 0]

    bodies = part(reader, "bodies", "kind", BODY)
    sample = times if len(times) <= 40 else [times[round(i * (len(times) - 1) / 39)] for i in range(40)]
    low, high, ranges = survey(bodies, sample)
    if not numpy.isfinite(low).all():
        stop("no body has a place")
    colouring = chosen_field(ranges, field)
    kinds = fetched(reader, times[-1])
    present = set(numpy.asarray(kinds.CellData["kind"]).round().astype(int))
    numbers = sorted(set(numpy.asarray(kinds.CellData["body"]).round().astype(int)) - {-1})
    names = body_names(folder)
    shown = []
    if len(numbers) <= MOST_BODIES:
        for n in numbers:
            body = part(bodies, names[n] if n < len(names) else f"body {n}", "body", n)
            bare = colouring is None or not has_field(body, colouring, sample[:: max(1, len(sample) // 6)])
            representation = show(body, view, None if bare else colouring)
            if not bare:
                shown.append(representation)
            show_edges(body, view)
        pv.Hide(bodies, view)
    else:
        shown.append(show(bodies, view, colouring))
    if OBSTACLE in present:
        obstacles = part(reader, "obstacles", "kind", OBSTACLE)
        show(obstacles, view, None, GREY, 0.55)
        show_grid(obstacles, view, 0.1 * float(numpy.linalg.norm(high - low)), times[-1])
    if SPRING in present:
        show(part(reader, "springs", "kind", SPRING), view, None, DARK)
    if CONTACT in present:
        contacts = part(reader, "contacts", "kind", CONTACT)
        pv.Hide(contacts, view)
        most = float(numpy.max([sizes(fetched(contacts, t), "POINTS", "contact_force").max() for t in sample]))
        arrows = pv.Glyph(registrationName="contact forces", Input=contacts, GlyphType="Arrow")
        arrows.OrientationArray = arrows.ScaleArray = ["POINTS", "contact_force"]
        arrows.GlyphMode = "All Points"
        # the largest arrow is a quarter of the model's size
        arrows.ScaleFactor = 0.25 * float(numpy.linalg.norm(high - low)) / most if most > 0 else 1.0
        show(arrows, view, None, [0.8, 0.1, 0.1])
    pv.Hide(reader, view)
    if colouring and shown:
        shown[0].SetScalarBarVisibility(view, True)
        bar = pv.GetScalarBar(shown[0].LookupTable, view)
        bar.TitleColor = bar.LabelColor = [0, 0, 0]
    label = pv.AnnotateTimeFilter(registrationName="time", Input=reader)
    label.Format = "t = {time:.4g}"
    pv.Show(label, view).Color = [0, 0, 0]
    view.ViewTime = times[-1]
    pv.Render(view)  # the first rendering sets the camera
    place_camera(view, low, high, direction)
    return view, times


def option(name, default=None):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv[:-1] else default


def numbers_of(text, count):
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError:
        values = []
    if len(values) != count:
        stop(f"expected {count} numbers with commas, got {text}")
    return values


def main(folder):
    listed = sorted(name for name in os.listdir(folder) if name.endswith(".pvd"))
    series = option("--series", os.path.join(folder, listed[0]) if listed else None)
    if series is None:
        stop(f"no series (*.pvd) in {folder}")
    picture, film = option("--png"), option("--animation")
    size = [int(x) for x in numbers_of(option("--size", "1600,1000"), 2)] if picture or film else None
    direction = numbers_of(option("--from"), 3) if option("--from") else None
    view, times = build(folder, series, size, option("--field"), direction)
    if picture:
        wanted = numbers_of(option("--time", str(times[-1])), 1)[0]
        view.ViewTime = min(times, key=lambda t: abs(t - wanted))
        pv.Render(view)
        pv.SaveScreenshot(picture, view, ImageResolution=size)
        print(f"{picture}: t = {view.ViewTime:g}", flush=True)
    if film:
        scene = pv.GetAnimationScene()
        scene.UpdateAnimationUsingDataTimeSteps()
        scene.PlayMode = "Sequence"
        scene.StartTime, scene.EndTime = times[0], times[-1]
        scene.NumberOfFrames = int(numbers_of(option("--frames", str(min(len(times), 200))), 1)[0])
        pv.SaveAnimation(film, view, ImageResolution=size, FrameRate=25)
        print(f"{film}: {scene.NumberOfFrames} frames", flush=True)
    if picture or film:
        os._exit(0)  # ParaView may abort when it ends with an open view


def own_folder():
    """The folder of this script; ParaView's window tells its name on the command line only."""
    if globals().get("__file__"):
        return os.path.dirname(os.path.abspath(__file__))
    try:
        with open("/proc/self/cmdline", encoding="utf-8") as stream:
            words = stream.read().split("\0")
    except OSError:
        return os.getcwd()
    for word, following in zip(words, [*words[1:], ""]):
        if word.startswith("--script=") or word == "--script":
            return os.path.dirname(os.path.abspath(word[9:] or following))
    return os.getcwd()


if __name__ == "__main__":
    main(own_folder())
