"""Opens the series of this folder in ParaView in a good view, or renders it.

    paraview --script=view.py                                                 interactively
    xvfb-run -a -s -noreset pvpython view.py --png picture.png [--time T]     a picture
    xvfb-run -a -s -noreset pvpython view.py --animation movie.ogv            a film; movie.png: numbered pictures
    xvfb-run -a -s -noreset pvpython view.py --gltf scene.gltf [--time T]     a scene for web pages
    xvfb-run -a -s -noreset pvpython view.py --blocks model.pvd               the series with a named block for every part
        [--field NAME] [--from X,Y,Z] [--size W,H] [--frames N] [--series NAME.pvd]

Written by carom beside the series. The pipeline has a part for every body, obstacle, spring, joint, stop and contact, by the
names in the field data "blocks"; "blocks" holds them all as named blocks. Obstacles are grey, so that colours show bodies
only. The paths of coordinates, and the curves on which their constraints and gaps vanish, come from run.json. The script may
be changed freely: carom writes it again with the next run.
"""

import json
import os
import sys

import numpy
from paraview import servermanager
from paraview import simple as pv
from vtkmodules.numpy_interface import dataset_adapter
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkImageData
from vtkmodules.vtkFiltersCore import vtkClipPolyData, vtkContourFilter

BODY, OBSTACLE, CONTACT, SPRING, JOINT, STOP = range(6)
KINDS = ["bodies", "obstacles", "contacts", "springs", "joints", "stops"]
GREY, DARK, STEEL, RED = [0.72, 0.74, 0.77], [0.25, 0.25, 0.25], [0.35, 0.4, 0.5], [0.75, 0.35, 0.2]
PREFERRED = ["von_mises", "section_moment", "axial_force", "velocity"]  # the first that varies colours the bodies
MOST_PARTS = 60  # with a name of their own


def part(source, name, field, value):
    """The cells with this value of a cell field, named in the pipeline."""
    cells = pv.Threshold(registrationName=name, Input=source, Scalars=["CELLS", field])
    cells.LowerThreshold, cells.UpperThreshold = value - 0.5, value + 0.5
    cells.ThresholdMethod = "Between"
    return cells


def model_of(folder):
    """The model of the run, {} if run.json is missing."""
    try:
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return {}


def fetched(source, time):
    source.UpdatePipeline(time)
    return dataset_adapter.WrapDataObject(servermanager.Fetch(source))


def sizes(data, association, name):
    values = numpy.asarray((data.PointData if association == "POINTS" else data.CellData)[name])
    return values if values.ndim == 1 else numpy.linalg.norm(values, axis=-1)


def titles_of(data):
    """The fields with their units: {"velocity": "velocity [m/s]"}."""
    units = data.VTKObject.GetFieldData().GetAbstractArray("units")
    texts = [units.GetValue(i) for i in range(units.GetNumberOfValues())] if units else []
    return {text.split(" [")[0]: text for text in texts}


class Survey:
    """What the frames at some times contain: bounds of the bodies, ranges of fields, and their largest values per block."""

    def __init__(self, reader, times):
        self.low, self.high = numpy.full(3, numpy.inf), numpy.full(3, -numpy.inf)
        self.ranges = {}  # {(association, name): (least, most)} on bodies
        self.most = {}  # {(association, name): largest value of each block}
        self.paths = {}  # {block: places of its first point}, of bodies
        self.force = 0.0
        for time in times:
            data = fetched(reader, time)
            if data.GetNumberOfPoints() == 0:
                stop(f"the frame of t = {time:g} is empty, or its file missing or unreadable")
            self._add(data)

    def _add(self, data):
        kinds, blocks = (numpy.asarray(data.CellData[name]).round().astype(int) for name in ("kind", "block"))
        names = data.VTKObject.GetFieldData().GetAbstractArray("blocks")
        self.names = [names.GetValue(i) for i in range(names.GetNumberOfValues())]
        self.titles = titles_of(data)
        self.kinds = [int(kinds[blocks == b][0]) for b in range(len(self.names))]
        cells = data.VTKObject.GetCells()
        owner = numpy.full(data.GetNumberOfPoints(), -1)
        owner[vtk_to_numpy(cells.GetConnectivityArray())] = numpy.repeat(
            blocks, numpy.diff(vtk_to_numpy(cells.GetOffsetsArray())))
        points = numpy.asarray(data.Points)
        of_body = numpy.array([kind == BODY for kind in self.kinds] + [False])[owner]
        if not of_body.any():
            return
        self.low = numpy.minimum(self.low, points[of_body].min(axis=0))
        self.high = numpy.maximum(self.high, points[of_body].max(axis=0))
        self.force = max(self.force, float(sizes(data, "POINTS", "contact_force").max()))
        for block, kind in enumerate(self.kinds):
            if kind == BODY:
                self.paths.setdefault(block, []).append(points[numpy.argmax(owner == block)])
        for association, arrays, where, chosen in (("POINTS", data.PointData, owner, of_body),
                                                   ("CELLS", data.CellData, blocks, kinds == BODY)):
            for name in arrays.keys():
                values = sizes(data, association, name)[chosen]
                least, most = self.ranges.get((association, name), (numpy.inf, -numpy.inf))
                self.ranges[association, name] = (min(least, values.min()), max(most, values.max()))
                largest = self.most.setdefault((association, name), numpy.zeros(len(self.names)))
                numpy.maximum.at(largest, where[chosen], values)

    @property
    def size(self):
        return float(numpy.linalg.norm(self.high - self.low))

    def has_field(self, block, colouring):
        """Whether the body has the field: a stress is zero on rigid bodies, a velocity may be zero anywhere."""
        return colouring[1] in ("velocity", "displacement") or self.most[colouring[:2]][block] > 0


def chosen_field(ranges, wanted):
    """The field for colours and its range; None if nothing varies."""
    for name in [wanted] if wanted else PREFERRED:
        for association in ("POINTS", "CELLS"):
            least, most = ranges.get((association, name), (0, 0))
            least = 0.0 if abs(least) < 1e-6 * most else least  # rounding
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


def smooth(source, name="surface"):
    """Its surface, with normals that make round surfaces look round and keep edges sharp."""
    surface = pv.ExtractSurface(registrationName=name, Input=source)
    normals = pv.GenerateSurfaceNormals(registrationName=name, Input=surface)
    normals.FeatureAngle = 35
    return normals


def show_edges(body, view, opacity=1.0):
    lines = show(pv.FeatureEdges(registrationName="edges", Input=pv.ExtractSurface(Input=body)), view, None, DARK, opacity)
    lines.LineWidth, lines.RenderLinesAsTubes = 1.5, 0
    return lines


def floors(model):
    """Axis, point, side and drawn size (None: large) of fixed planes that face up: against gravity, or along z; only of those
    across an axis."""
    up = -numpy.array(model.get("gravity", [0, 0, 0]), float)
    up = up / numpy.linalg.norm(up) if up.any() else numpy.array([0.0, 0.0, 1.0])
    for contact in model.get("contacts", []):
        obstacle = contact.get("obstacle", {})
        if obstacle.get("type") == "plane" and "motion" not in obstacle:
            normal = numpy.array(obstacle["normal"], float) / numpy.linalg.norm(obstacle["normal"])
            axis = int(numpy.argmax(numpy.abs(normal)))
            if normal @ up > 0.8 and abs(normal[axis]) > 1 - 1e-9:
                yield axis, obstacle.get("point", [0, 0, 0]), numpy.sign(normal[axis]), obstacle.get("draw_size")


def show_shadows(bodies, view, model, size, opacity=1.0, layer=1):
    """The shadows of the bodies on floors, straight under them; several, one over another, need layers."""
    for axis, point, side, drawn in floors(model):
        shadow = pv.Transform(registrationName="shadow", Input=bodies)
        shadow.Transform.Scale = [float(k != axis) for k in range(3)]
        shadow.Transform.Translate = [(point[k] + 1e-3 * layer * size * side) * (k == axis) for k in range(3)]
        if drawn:
            lengths = [2 * size if k == axis else drawn for k in range(3)]
            shadow = pv.Clip(registrationName="shadow", Input=shadow, ClipType="Box", Invert=1)
            shadow.ClipType.Position = [point[k] - lengths[k] / 2 for k in range(3)]
            shadow.ClipType.Length = lengths
        shown = show(shadow, view, None, [0.1, 0.1, 0.12], 0.22 * opacity)
        shown.Ambient, shown.Diffuse, shown.RenderLinesAsTubes = 1, 0, 0


FUNCTIONS = {
    "pi": numpy.pi, "e": numpy.e, "asin": numpy.arcsin, "acos": numpy.arccos, "atan": numpy.arctan,
    "atan2": numpy.arctan2, "pow": numpy.power, "step": lambda x: numpy.where(x < 0, 0.0, 1.0), "mod": numpy.mod,
    "min": lambda *a: numpy.minimum.reduce(numpy.broadcast_arrays(*a)),
    "max": lambda *a: numpy.maximum.reduce(numpy.broadcast_arrays(*a)),
    **{name: getattr(numpy, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "log10", "sqrt",
                                               "cbrt", "abs", "sign", "floor", "hypot")},
}


def evaluated(formula, variables, parameters):
    """The formula of the model at arrays of x, y and z; None if it needs anything else."""
    if any(mark in formula for mark in "?&|!'"):
        return None
    try:
        names = {"__builtins__": {}, **FUNCTIONS, **parameters, **variables}
        return numpy.broadcast_to(eval(formula.replace("^", "**"), names), variables["x"].shape)  # pylint: disable=eval-used
    except (NameError, SyntaxError, TypeError, ValueError, ArithmeticError):
        return None


def zero_set(formula, condition, axes, low, high, parameters):
    """Curve or surface on which the formula is zero, as far as the condition is not negative; None if it needs more than x, y
    and z."""
    count = [160, 160, 1] if "z" not in axes else [48, 48, 48]
    spans = [numpy.linspace(low[k], high[k], count[k]) if count[k] > 1 else numpy.zeros(1) for k in range(3)]
    z, y, x = numpy.meshgrid(spans[2], spans[1], spans[0], indexing="ij")  # x is fastest
    variables = {name: values for name, values in zip("xyz", (x, y, z)) if name in axes}
    values = evaluated(formula, variables, parameters)
    if values is None or not numpy.isfinite(values).all():
        return None
    image = vtkImageData()
    image.SetDimensions(count)
    image.SetOrigin([span[0] for span in spans])
    image.SetSpacing([span[1] - span[0] if len(span) > 1 else 1.0 for span in spans])
    image.GetPointData().SetScalars(numpy_to_vtk(numpy.ascontiguousarray(values, float).ravel(), deep=True))
    contour = vtkContourFilter()
    contour.SetInputData(image)
    contour.SetValue(0, 0.0)
    contour.Update()
    curve = contour.GetOutput()
    if not condition or curve.GetNumberOfPoints() == 0:
        return curve
    points = dict(zip("xyz", vtk_to_numpy(curve.GetPoints().GetData()).astype(float).T))
    values = evaluated(condition, {name: x for name, x in points.items() if name in axes}, parameters)
    if values is None:
        return None
    curve.GetPointData().SetScalars(numpy_to_vtk(numpy.ascontiguousarray(values), deep=True))
    clip = vtkClipPolyData()
    clip.SetInputData(curve)
    clip.SetValue(0.0)
    clip.Update()
    return clip.GetOutput()


def show_tracks(view, model, survey):
    """Of bodies of coordinates and their frames: paths, and the curves on which constraints and gaps of x, y and z vanish."""
    for block, points in survey.paths.items():
        body = next((b for b in model.get("bodies", []) if "bodies/" + b["name"] == survey.names[block]), {})
        if body.get("type") not in ("coordinates", "coordinate_frame"):
            continue
        points = numpy.array(points)
        if len(points) > 1 and numpy.ptp(points, axis=0).any():
            path = pv.PolyLineSource(registrationName="path of " + body["name"], Points=points.ravel().tolist())
            show(path, view, None, [0.55, 0.6, 0.85]).LineWidth = 2
        axes = [c["name"] for c in body.get("coordinates", []) if c["name"] in ("x", "y", "z")]
        margin = 0.15 * max(survey.size, 1e-9)
        low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
        formulas = [(c["name"], c["formula"], "", STEEL) for c in body.get("constraints", [])]
        formulas += [(c["name"], c["formula"], "", GREY) for c in body.get("gaps", [])]
        formulas += [(mode["name"], formula, mode.get("condition", ""), STEEL)
                     for mode in body.get("switching", []) for formula in mode.get("constraints", [])]
        for name, formula, condition, colour in formulas:
            curve = zero_set(formula, condition, axes, low, high, model.get("parameters", {})) if "y" in axes else None
            if curve is None or curve.GetNumberOfCells() == 0:
                continue
            producer = pv.TrivialProducer(registrationName=f"{body['name']}.{name}")
            producer.GetClientSideObject().SetOutput(curve)
            show(producer, view, None, colour, 0.6 if "z" in axes else 1.0)


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
    """The pipeline and its view; returns view, times and blocks."""
    reader = pv.PVDReader(registrationName=os.path.basename(series), FileName=series)
    times = reader.TimestepValues
    times = [times] if isinstance(times, float) else list(times) or [0.0]
    view = pv.CreateRenderView() if size else pv.GetActiveViewOrCreate("RenderView")
    view.ViewSize = size or view.ViewSize
    view.UseColorPaletteForBackground, view.BackgroundColorMode, view.Background = 0, "Single Color", [1, 1, 1]
    view.OrientationAxesLabelColor = [0, 0, 0]

    model = model_of(folder)
    # paths of coordinates need many points
    most = 200 if any(body["type"].startswith("coordinate") for body in model.get("bodies", [])) else 40
    survey = Survey(reader, [times[i] for i in sorted({round(i) for i in numpy.linspace(0, len(times) - 1, most)})])
    low, high = survey.low, survey.high
    if not numpy.isfinite(low).all():
        stop("no body has a place")
    colouring = chosen_field(survey.ranges, field)
    parts = {}  # of the pipeline, by name
    for kind in sorted(set(survey.kinds)):
        mine = [block for block, of_kind in enumerate(survey.kinds) if of_kind == kind]
        whole = parts[KINDS[kind]] = part(reader, KINDS[kind], "kind", kind)
        pv.Hide(whole, view)
        if len(survey.names) > MOST_PARTS:
            continue
        del parts[KINDS[kind]]
        for block in mine:
            name = survey.names[block]
            parts[name] = part(reader, name.split("/", 1)[1] if kind == BODY else name, "block", block)
            pv.Hide(parts[name], view)
    blocks = pv.GroupDatasets(registrationName="blocks", Input=list(parts.values()), BlockNames=list(parts))
    pv.Hide(blocks, view)

    shown = []
    for block, name in enumerate(survey.names):
        if survey.kinds[block] != BODY or name not in parts:
            continue
        bare = colouring is None or not survey.has_field(block, colouring)
        representation = show(smooth(parts[name]), view, None if bare else colouring)
        if not bare:
            shown.append(representation)
        show_edges(parts[name], view)
    if "bodies" in parts:
        shown.append(show(smooth(parts["bodies"]), view, colouring))
    for kind, colour in ((SPRING, DARK), (JOINT, STEEL), (STOP, RED)):
        if kind in survey.kinds:
            show(smooth(part(reader, "all " + KINDS[kind], "kind", kind)), view, None, colour)
    if OBSTACLE in survey.kinds:
        obstacles = part(reader, "all obstacles", "kind", OBSTACLE)
        show(smooth(obstacles), view, None, GREY, 0.55)
        show_grid(obstacles, view, 0.1 * survey.size, times[-1])
        show_shadows(pv.ExtractSurface(Input=part(reader, "all bodies", "kind", BODY)), view, model, survey.size)
    show_tracks(view, model, survey)
    if CONTACT in survey.kinds:
        contacts = part(reader, "all contacts", "kind", CONTACT)
        pv.Hide(contacts, view)
        arrows = pv.Glyph(registrationName="contact forces", Input=contacts, GlyphType="Arrow")
        arrows.OrientationArray = arrows.ScaleArray = ["POINTS", "contact_force"]
        arrows.GlyphMode = "All Points"
        # the largest arrow is a quarter of the model's size
        arrows.ScaleFactor = 0.25 * survey.size / survey.force if survey.force > 0 else 1.0
        show(arrows, view, None, [0.8, 0.1, 0.1])
    pv.Hide(reader, view)
    if colouring and shown:
        shown[0].SetScalarBarVisibility(view, True)
        bar = pv.GetScalarBar(shown[0].LookupTable, view)
        bar.Title, bar.ComponentTitle = survey.titles.get(colouring[1], colouring[1]).replace("_", " "), ""
        bar.TitleColor = bar.LabelColor = [0, 0, 0]
        bar.LabelFormat = bar.RangeLabelFormat = "%.3g"
        bar.AutomaticLabelFormat = 0
    label = pv.AnnotateTimeFilter(registrationName="time", Input=reader)
    label.Format = "t = {time:.4g}"
    pv.Show(label, view).Color = [0, 0, 0]
    view.ViewTime = times[-1]
    pv.Render(view)  # the first rendering sets the camera
    place_camera(view, low, high, direction)
    return view, times, blocks


def save_blocks(path, blocks, times):
    """The series as multi-block files: many more files than carom's own, with a block for every name."""
    stem, _ = os.path.splitext(path)
    entries = []
    for number, time in enumerate(times):
        blocks.UpdatePipeline(time)
        frame = f"{stem}_{number:06d}.vtm"
        pv.SaveData(frame, proxy=blocks)
        entries.append(f'    <DataSet timestep="{time!r}" part="0" file="{os.path.basename(frame)}"/>\n')
    with open(path, "w", encoding="utf-8") as stream:
        stream.write('<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1">\n  <Collection>\n'
                     + "".join(entries) + "  </Collection>\n</VTKFile>\n")
    print(f"{path}: {len(times)} frames of {len(blocks.BlockNames)} blocks", flush=True)


OPTIONS = ("--png", "--animation", "--gltf", "--blocks", "--series", "--size", "--time", "--from", "--field", "--frames")


def check_options(words):
    """Ends the program unless the words are options with a value each."""
    for i in range(0, len(words), 2):
        if words[i] not in OPTIONS or i + 1 == len(words):
            stop(f"expected {', '.join(OPTIONS)}, each with a value, got {' '.join(words[i:])}")


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
    if globals().get("__file__"):  # otherwise the words are those of ParaView's window
        check_options(sys.argv[1:])
    listed = sorted(name for name in os.listdir(folder) if name.endswith(".pvd"))
    series = option("--series", os.path.join(folder, listed[0]) if listed else None)
    if series is None:
        stop(f"no series (*.pvd) in {folder}")
    picture, film, scene_file, blocks_file = (option(name) for name in ("--png", "--animation", "--gltf", "--blocks"))
    batch = picture or film or scene_file or blocks_file
    size = [int(x) for x in numbers_of(option("--size", "1600,1000"), 2)] if batch else None
    direction = numbers_of(option("--from"), 3) if option("--from") else None
    view, times, blocks = build(folder, series, size, option("--field"), direction)
    if picture or scene_file:
        wanted = numbers_of(option("--time", str(times[-1])), 1)[0]
        view.ViewTime = min(times, key=lambda t: abs(t - wanted))
        pv.Render(view)
    if scene_file:
        pv.ExportView(scene_file, view=view, InlineData=1)
        print(f"{scene_file}: t = {view.ViewTime:g}", flush=True)
    if blocks_file:
        save_blocks(blocks_file, blocks, times)
    if picture:
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
    if batch:
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
