#!/usr/bin/env python3
"""The Python package with the built program: runs, errors, tables, frames, the notebook; 77 (skipped) without NumPy.

Usage: python_package.py CAROM ROOT [UNITTEST ARGS]

Comparisons with pandas, meshio, VTK and lz4 are skipped where these are not installed. Python of $PATH may lack NumPy
although Debian's has it: then the tests run under /usr/bin/python3.
"""

import csv
import importlib.util
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

if importlib.util.find_spec("numpy") is None:
    debian = "/usr/bin/python3"
    if os.environ.get("CAROM_TEST_SECOND_PYTHON") or not os.access(debian, os.X_OK):
        print("NumPy not found")
        sys.exit(77)
    os.execve(debian, [debian, "-B", *sys.argv], {**os.environ, "CAROM_TEST_SECOND_PYTHON": "1"})
if sys.version_info < (3, 11):
    print("Python 3.11 not found")
    sys.exit(77)

PROGRAM, ROOT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
PACKAGE = ROOT / "apps" / "python"
MODELS = ROOT / "data" / "models"
BRICK = MODELS / "brick.json"
sys.path.insert(0, str(PACKAGE))

import numpy as np  # noqa: E402

import carom  # noqa: E402
from carom import frames as carom_frames  # noqa: E402
from carom.errors import problems_of  # noqa: E402

LONG = {"/integrator/duration": 1e4, "/expect": [], "/output/vtu/every": 1000000, "/output/probes": []}


def has(package):
    return importlib.util.find_spec(package) is not None


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("what was waited for did not happen within a minute")
        time.sleep(0.01)


def running_pid(directory):
    """The process of the run in the directory once it makes steps, else None."""
    try:
        status = json.loads((directory / "status.json").read_text())
    except OSError:
        return None
    return status["pid"] if status["status"] == "running" else None


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        environment = mock.patch.dict(os.environ, {"CAROM": str(PROGRAM)})
        environment.start()
        self.addCleanup(environment.stop)


class Runs(Case):
    def test_a_run_with_changed_keys_has_their_values(self):
        results = carom.run(
            str(BRICK),
            set={
                "/integrator/step": np.float64(5e-4),
                "/bodies/0/velocity": np.array([1.0, -2.0, 0.0]),
                "/title": 'a "title" = with signs',
                "/expect": [],
            },
            output=self.folder / "run with blanks",
            until=0.25,
        )
        self.assertEqual(results.summary["steps"], 500)
        self.assertEqual(results.model["title"], 'a "title" = with signs')
        self.assertTrue(results.completed)
        last = results.probes[-1]
        self.assertEqual((last["v.x"], last["v.y"]), (1, -2))
        self.assertAlmostEqual(last["x.y"], -0.5, delta=1e-12)  # no force acts sideways

    def test_results_are_in_the_default_directory_of_the_program(self):
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)
        results = carom.run(BRICK, until=0.01)
        self.assertEqual(results.directory, Path("results/brick"))

    def test_a_restart_goes_on_from_the_last_checkpoint(self):
        directory = self.folder / "brick"
        carom.run(BRICK, output=directory, until=0.5)
        results = carom.run(BRICK, output=directory, restart="last", threads=1)
        self.assertEqual(results.summary["steps"], 1000)
        whole = carom.run(BRICK, output=self.folder / "whole")
        self.assertEqual(results.probes.tobytes(), whole.probes.tobytes())

    def test_check_returns_the_stock(self):
        stock = carom.check(BRICK, set={"/bodies/0/mass": 12})
        # 12 kg: m (v^2 + (w . J w)/m) / 2 of a box 0.1 x 0.2 x 0.3 with v = 3 and w = (60, 60, 0)
        inertia = 12 / 12 * (0.04 + 0.09), 12 / 12 * (0.01 + 0.09)
        kinetic = 12 * 9 / 2 + 60**2 * sum(inertia) / 2
        self.assertAlmostEqual(stock["energy"]["kinetic"], kinetic, delta=1e-10)
        self.assertEqual(stock["freedom"]["degrees_of_freedom"], 6)

    def test_values_that_json_cannot_hold_and_wrong_pointers_are_refused_before_the_run(self):
        for wrong in ({"integrator/step": 1}, {"/a=b": 1}, {"/integrator/step": float("nan")}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                carom.run(BRICK, set=wrong, output=self.folder / "none")
        with self.assertRaises(TypeError):
            carom.run(BRICK, set={"/integrator/step": object()}, output=self.folder / "none")
        self.assertFalse((self.folder / "none").exists())


class Errors(Case):
    def run_brick(self, changes, **more):
        return carom.run(BRICK, set=changes, output=self.folder / "out", **more)

    def test_an_invalid_model_gives_all_places(self):
        for call in (self.run_brick, lambda changes: carom.check(BRICK, set=changes)):
            with self.assertRaises(carom.ModelError) as caught:
                call({"/bodies/0/mass": -1, "/integrator/stepp": 1})
            problems = caught.exception.problems
            self.assertEqual([p.path for p in problems], ["/bodies/0/mass", "/integrator/stepp"])
            self.assertIn('did you mean "step"', problems[1].message)
            self.assertEqual(caught.exception.exit_code, 3)
            self.assertIsNone(caught.exception.results)

    def test_errors_of_a_file_have_line_and_column(self):
        file = self.folder / "model.json"
        lines = BRICK.read_text().splitlines()
        number = next(i for i, line in enumerate(lines) if '"floor"' in line)
        lines[number] = lines[number].replace('"floor"', "5", 1)
        file.write_text("\n".join(lines))
        with self.assertRaises(carom.ModelError) as caught:
            carom.check(file)
        problem = next(p for p in caught.exception.problems if p.path == "/contacts/0/name")
        self.assertEqual((problem.source, problem.line), (str(file), number + 1))
        self.assertEqual(lines[number][problem.column - 1], "5")
        file.write_text('{"bodies": [1, 2')
        with self.assertRaises(carom.ModelError) as caught:
            carom.check(file)
        (problem,) = caught.exception.problems
        self.assertEqual((problem.path, problem.line, problem.column), ("", 1, 12))

    def test_every_line_of_a_report_becomes_one_problem(self):
        report = (
            "model.json:6:16: error at /sections/0/width: expected a length > 0, got \"a: b\"\n"
            "C: 1/m.json:1:1: error: the file is empty; expected a JSON object\n"
            "--set /a b/0=1: error at /a b/0: x: y\n3 errors. See: carom schema /sections\n"
        )
        found = [(p.source, p.line, p.column, p.path, p.message) for p in problems_of(report)]
        self.assertEqual(
            found,
            [
                ("model.json", 6, 16, "/sections/0/width", 'expected a length > 0, got "a: b"'),
                ("C: 1/m.json", 1, 1, "", "the file is empty; expected a JSON object"),
                ("--set /a b/0=1", None, None, "/a b/0", "x: y"),
            ],
        )

    def test_a_run_without_convergence_keeps_its_results(self):
        # one iteration does not suffice at the impact, and halving is forbidden
        with self.assertRaises(carom.NotConverged) as caught:
            self.run_brick({"/integrator/newton/max_iterations": 1, "/integrator/max_subdivisions": 0, "/expect": []})
        error = caught.exception
        self.assertEqual(error.exit_code, 4)
        self.assertIn("no convergence", str(error))
        self.assertEqual(error.results.summary["status"], "failed")
        self.assertFalse(error.results.completed)

    def test_a_missed_expectation_keeps_its_results(self):
        with self.assertRaises(carom.ExpectationMissed) as caught:
            self.run_brick({"/expect/0/value": 7})
        self.assertIn("/expect/0", str(caught.exception))
        self.assertTrue(caught.exception.results.completed)

    def test_an_error_before_the_run_has_no_results_of_an_earlier_run(self):
        self.run_brick({"/integrator/duration": 0.01, "/expect": []})
        with self.assertRaises(carom.ModelError) as caught:
            self.run_brick({"/bodies/0/mass": -1})
        self.assertIsNone(caught.exception.results)

    def test_files_and_options_have_their_errors(self):
        with self.assertRaisesRegex(carom.FileAccessError, "nothing.json"):
            carom.run(self.folder / "nothing.json")
        with self.assertRaises(carom.FileAccessError):
            self.run_brick({}, restart="last")
        with self.assertRaises(carom.CommandError) as caught:
            self.run_brick({}, threads=0)
        self.assertEqual(caught.exception.exit_code, 2)

    def test_errors_travel_between_processes(self):
        with self.assertRaises(carom.ModelError) as caught:
            carom.check(BRICK, set={"/bodies/0/mass": -1})
        copy = pickle.loads(pickle.dumps(caught.exception))
        self.assertIs(type(copy), carom.ModelError)
        self.assertEqual(copy.problems, caught.exception.problems)

    def test_a_signal_to_the_program_is_an_interruption_or_names_the_signal(self):
        for number, kind, code in ((signal.SIGINT, carom.Interrupted, 130), (signal.SIGKILL, carom.CommandError, -9)):
            directory = self.folder / number.name

            def interrupt(directory=directory, number=number):
                wait_for(lambda: running_pid(directory))
                os.kill(running_pid(directory), number)

            thread = threading.Thread(target=interrupt)
            thread.start()
            with self.assertRaises(kind) as caught:
                carom.run(BRICK, set=LONG, output=directory)
            thread.join()
            self.assertEqual(caught.exception.exit_code, code)
            if number == signal.SIGINT:
                self.assertEqual(caught.exception.results.summary["status"], "interrupted")
            else:
                self.assertIn("signal 9", str(caught.exception))
                self.assertFalse(caught.exception.results.completed)
                with self.assertRaisesRegex(carom.ResultsError, "summary.json"):
                    _ = caught.exception.results.summary

    def test_ctrl_c_lets_the_run_complete_its_files(self):
        directory = self.folder / "long"
        code = "import carom, json, sys; carom.run(sys.argv[1], set=json.loads(sys.argv[2]), output=sys.argv[3])"
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", code, BRICK, json.dumps(LONG), directory],
            env={**os.environ, "PYTHONPATH": str(PACKAGE)},
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for(lambda: running_pid(directory))
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        self.assertIn("KeyboardInterrupt", stderr)
        self.assertEqual(carom.Results(directory).summary["status"], "interrupted")


    def test_ctrl_c_on_a_terminal_reaches_the_program_once(self):
        # a second signal would end the program at once; this one counts the signals of half a second after the first
        program, count = self.folder / "program", self.folder / "count"
        program.write_text(
            f"#!{sys.executable}\n"
            "import signal, sys, time\n"
            "seen = []\n"
            "signal.signal(signal.SIGINT, lambda *_: seen.append(time.monotonic()))\n"
            f"open({str(self.folder / 'ready')!r}, 'w').close()\n"
            "while not seen or time.monotonic() < seen[0] + 0.5: time.sleep(0.01)\n"
            f"open({str(count)!r}, 'w').write(str(len(seen)))\n"
        )
        program.chmod(0o755)
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", "import carom, sys; carom.run('m.json', program=sys.argv[1])", program],
            env={**os.environ, "PYTHONPATH": str(PACKAGE)},
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        wait_for((self.folder / "ready").exists)
        os.killpg(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        self.assertIn("KeyboardInterrupt", stderr)
        self.assertEqual(count.read_text(), "1")


class FindingTheProgram(Case):
    def test_the_variable_comes_before_the_path_and_the_path_before_the_prefix(self):
        prefix = self.folder / "prefix"
        package = prefix / "lib" / "python3" / "dist-packages" / "carom"
        shutil.copytree(PACKAGE / "carom", package, ignore=shutil.ignore_patterns("__pycache__"))
        places = {}
        for name in ("variable", "path", "prefix/bin"):
            places[name] = self.folder / name / "carom"
            places[name].parent.mkdir(parents=True)
            places[name].write_text("#!/bin/sh\n")
            places[name].chmod(0o755)

        def found(**environment):
            environment = {"PYTHONPATH": str(package.parent), "PATH": "/nowhere", **environment}
            code = "import carom; print(carom.find_program())"
            out = subprocess.run([sys.executable, "-B", "-c", code], env=environment, capture_output=True, text=True)
            return out.stdout.strip() or out.stderr.splitlines()[-1]

        path = str(places["path"].parent)
        self.assertEqual(found(CAROM=str(places["variable"]), PATH=path), str(places["variable"]))
        self.assertEqual(found(PATH=path), str(places["path"]))
        self.assertEqual(Path(found()).resolve(), places["prefix/bin"].resolve())
        self.assertIn("ProgramNotFound: $CAROM is", found(CAROM="/nowhere/carom", PATH=path))
        places["prefix/bin"].unlink()
        self.assertIn("ProgramNotFound: the program carom was not found", found())

    def test_a_file_that_is_no_program_is_named(self):
        with self.assertRaisesRegex(carom.ProgramNotFound, "nowhere"):
            carom.check(BRICK, program="/nowhere/carom")


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.results = carom.run(BRICK, output=cls.folder / "brick", program=PROGRAM)

    def test_columns_have_the_bits_of_the_files(self):
        for name in ("probes", "energy", "events", "iterations"):
            table = getattr(self.results, name)
            with (self.results.directory / f"{name}.csv").open(newline="") as stream:
                rows = list(csv.reader(stream))
            names = [head.split(" [")[0] for head in rows[0]]
            self.assertEqual(list(table.dtype.names), names)
            self.assertEqual(len(table), len(rows) - 1)
            units = {head.split(" [")[0]: head.split(" [")[1][:-1] for head in rows[0] if " [" in head}
            self.assertEqual(self.results.units(name), units)
            for i, column in enumerate(names):
                cells = [row[i] for row in rows[1:]]
                if column in ("event", "contact"):
                    self.assertEqual(table[column].tolist(), cells)
                else:
                    self.assertEqual(table[column].tolist(), [float(cell) for cell in cells])

    def test_the_brick_falls_freely_and_meets_the_impact_law(self):
        probes, events = self.results.probes, self.results.events
        fall = probes[probes["t"] <= 0.4]
        np.testing.assert_allclose(fall["x.z"], 1 - 9.81 * fall["t"] ** 2 / 2, rtol=0, atol=1e-12)
        impact = events[events["event"] == "impact"]
        np.testing.assert_allclose(impact["gap_velocity_end"], -0.8 * impact["gap_velocity_start"], atol=1e-9)
        self.assertEqual(self.results.summary["impacts"], len(impact))
        self.assertEqual(events["step"].dtype, np.int64)

    def damaged(self, name, text):
        copy = self.folder / "damaged"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.results.directory, copy)
        (copy / name).write_text(text)
        return carom.Results(copy)

    def test_rows_may_begin_with_blanks_and_texts_may_contain_commas(self):
        results = self.damaged("probes.csv", 't,"a,b"\n1,2\n    3,nan\n')
        self.assertEqual(results.probes["t"].tolist(), [1, 3])
        self.assertTrue(np.isnan(results.probes["a,b"][1]))
        results = self.damaged("events.csv", 't,step,event,contact\n   0.5,3,impact,"a[1,2] ""x"""\n')
        self.assertEqual(results.events["contact"].tolist(), ['a[1,2] "x"'])
        self.assertEqual(results.events["t"].tolist(), [0.5])

    def test_units_are_those_of_the_quantities_and_may_be_left_out(self):
        units = self.results.units("probes")
        self.assertEqual((units["t"], units["x.z"], units["v.z"], units["energy"]), ("s", "m", "m/s", "J"))
        self.assertEqual(self.results.units("energy")["kinetic"], "J")
        self.assertNotIn("step", self.results.units("events"))
        with self.assertRaisesRegex(ValueError, "probes"):
            self.results.units("summary")
        bare = carom.run(BRICK, set={"/output/units": "none"}, output=self.folder / "no_units", program=PROGRAM)
        self.assertEqual(bare.units("probes"), {})
        np.testing.assert_array_equal(bare.probes, self.results.probes)

    def test_events_of_switching_constraints_have_their_modes(self):
        track = carom.run(ROOT / "data" / "models" / "track.json", output=self.folder / "track", program=PROGRAM)
        switch = track.events[track.events["event"] == "switch"]
        self.assertGreater(len(switch), 0)
        self.assertNotEqual(switch["mode_before"][0], switch["mode"][0])
        self.assertTrue(np.isnan(switch["impulse"]).all())

    def test_tables_without_rows_have_columns(self):
        results = self.damaged("probes.csv", "t,a\n")
        self.assertEqual((results.probes.dtype.names, len(results.probes)), (("t", "a"), 0))
        results = self.damaged("events.csv", "t,step,event,contact\n")
        self.assertEqual(len(results.events), 0)
        results = self.damaged("probes.csv", "t,a\n1,2\n")
        self.assertEqual(results.probes["a"].tolist(), [2])

    def test_damaged_files_are_named(self):
        for name, text in (
            ("probes.csv", "t,a\n1\n"),
            ("probes.csv", "t,a\n1,x\n"),
            ("probes.csv", "t,a\n1,2#3\n"),
            ("probes.csv", ""),
            ("events.csv", "t,step,event,contact\n1,2,impact\n"),
            ("events.csv", "t,step,event,contact\n1,x,impact,a\n"),
            ("summary.json", "{"),
            ("brick.pvd", "<VTKFile>"),
        ):
            results = self.damaged(name, text)
            attribute = "frames" if name.endswith("pvd") else name.split(".")[0]
            with self.subTest(name=name, text=text), self.assertRaisesRegex(carom.ResultsError, name):
                getattr(results, attribute)

    def test_absent_results_are_named(self):
        with self.assertRaisesRegex(carom.ResultsError, "no directory"):
            carom.Results(self.folder / "nothing")
        with self.assertRaisesRegex(carom.ResultsError, "no run.json"):
            carom.Results(self.folder)
        results = carom.run(
            BRICK,
            set={"/output/vtu/enabled": False, "/output/energy/enabled": False},
            output=self.folder / "bare",
            program=PROGRAM,
        )
        with self.assertRaisesRegex(carom.ResultsError, "energy.csv"):
            _ = results.energy
        with self.assertRaisesRegex(carom.ResultsError, "no series"):
            _ = results.frames

    def test_pandas_is_used_where_present_and_named_where_not(self):
        with self.assertRaises(ValueError):
            self.results.dataframe("model")
        with mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(carom.MissingPackage, "pandas"):
                self.results.dataframe("probes")
        if has("pandas"):
            frame = self.results.dataframe("events")
            self.assertEqual(list(frame.columns), list(self.results.events.dtype.names))
            self.assertEqual(frame["contact"].tolist(), self.results.events["contact"].tolist())

    def test_only_arrays_need_numpy(self):
        code = (
            "import sys; sys.modules['numpy'] = None\n"
            "import carom\n"
            "results = carom.Results(sys.argv[1])\n"
            "print(results.summary['status'], results.model['format'], len(results.frames.times))\n"
            "try: results.probes\n"
            "except carom.MissingPackage as error: print(error)\n"
        )
        done = subprocess.run(
            [sys.executable, "-B", "-c", code, self.results.directory],
            env={**os.environ, "PYTHONPATH": str(PACKAGE)},
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertRegex(done.stdout, r"completed 1 \d+\nan array needs the Python package numpy")


class Sweeps(Case):
    def test_the_table_has_numbers_units_and_failures(self):
        command = [PROGRAM, "sweep", BRICK, "--vary", "/integrator/duration=0.05,0.1,-1", "--vary",
                   "/integrator/type=nsga_decoupled,nonsense", "--result", "x.z:last", "--result", "steps", "-q"]  # fmt: skip
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)
        sweep = carom.Sweep(self.folder / "results" / "brick-sweep")
        table = sweep.table
        self.assertEqual(table["point"].tolist(), [1, 2, 3, 4, 5, 6])
        self.assertEqual(table["exit_code"].tolist(), [0, 3, 0, 3, 3, 3])
        self.assertEqual(table["/integrator/duration"].tolist(), [0.05, 0.05, 0.1, 0.1, -1, -1])
        self.assertEqual(table["/integrator/type"][1], "nonsense")
        self.assertEqual(np.isnan(table["x.z:last"]).tolist(), [False, True, False, True, True, True])
        self.assertEqual(sweep.units, {"/integrator/duration": "s", "x.z:last": "m"})
        self.assertIn("expected a time >= 0", table["reason"][4])
        run = sweep.point(3)
        self.assertEqual(run.probes["x.z"][-1], table["x.z:last"][2])
        self.assertEqual(run.summary["steps"], table["steps"][2])
        with self.assertRaisesRegex(carom.ResultsError, "no point 7"):
            sweep.point(7)
        with self.assertRaisesRegex(carom.ResultsError, "no sweep.json"):
            carom.Sweep(self.folder)


class FramesOfSeries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.brick = carom.run(BRICK, output=cls.folder / "brick", program=PROGRAM)
        # a beam, a solid and a rigid body, with arrays of more than one block of 32768 bytes
        cls.mixed = carom.run(
            MODELS / "mixed.json",
            set={"/expect": [], "/output/vtu/every": 1, "/bodies/3/mesh/divisions": [10, 10, 12]},
            until=2e-3,
            output=cls.folder / "mixed",
            program=PROGRAM,
        )

    def test_the_picture_of_the_brick_lies_about_its_probe(self):
        probes = self.brick.probes
        self.assertGreater(len(self.brick.frames), 100)
        for frame in self.brick.frames[::10]:
            cell = frame.connectivity[: frame.offsets[0]]
            self.assertEqual(len(cell), 8)
            row = probes[np.argmin(np.abs(probes["t"] - frame.time))]
            self.assertAlmostEqual(row["t"], frame.time, delta=1e-9)
            centre = frame.points[cell].mean(axis=0)
            np.testing.assert_allclose(centre, [row["x.x"], row["x.y"], row["x.z"]], atol=1e-12)
            # the vertices of a box lie at half its diagonal, however it turns
            radius = np.linalg.norm(frame.points[cell] - centre, axis=1)
            np.testing.assert_allclose(radius, np.sqrt(0.1**2 + 0.2**2 + 0.3**2) / 2, atol=1e-12)

    def test_a_series_is_a_sequence(self):
        frames = self.brick.frames
        self.assertEqual(len(frames), len(frames.times))
        self.assertEqual(frames[-1].time, frames.times[-1])
        self.assertEqual(len(frames[2:5]), 3)
        self.assertEqual([frame.time for frame in frames], frames.times)
        self.assertEqual(frames.at(1e9).time, frames.times[-1])
        self.assertTrue(all(file.is_file() for file in frames.files))
        with self.assertRaises(IndexError):
            _ = frames[len(frames)]

    @unittest.skipUnless(has("vtkmodules"), "VTK for Python is not installed")
    def test_frames_are_those_that_vtk_reads(self):
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader

        self.assertGreater(self.mixed.frames[-1].points.nbytes, 32768)
        for results in (self.brick, self.mixed):
            frame = results.frames[-1]
            reader = vtkXMLUnstructuredGridReader()
            reader.SetFileName(str(frame.file))
            reader.Update()
            grid = reader.GetOutput()
            np.testing.assert_array_equal(frame.points, vtk_to_numpy(grid.GetPoints().GetData()))
            np.testing.assert_array_equal(frame.connectivity, vtk_to_numpy(grid.GetCells().GetConnectivityArray()))
            np.testing.assert_array_equal(frame.offsets, vtk_to_numpy(grid.GetCells().GetOffsetsArray())[1:])
            np.testing.assert_array_equal(frame.types, vtk_to_numpy(grid.GetCellTypesArray()))
            texts = grid.GetFieldData().GetAbstractArray("blocks")
            self.assertEqual(frame.blocks, [texts.GetValue(i) for i in range(texts.GetNumberOfValues())])
            for ours, theirs in ((frame.point_data, grid.GetPointData()), (frame.cell_data, grid.GetCellData())):
                names = [theirs.GetArrayName(i) for i in range(theirs.GetNumberOfArrays())]
                self.assertEqual(sorted(ours), sorted(names))
                for name in names:
                    np.testing.assert_array_equal(ours[name], vtk_to_numpy(theirs.GetArray(name)))

    def test_fields_have_units(self):
        units = self.brick.frames[0].units
        self.assertEqual({name: units[name] for name in ("displacement", "velocity", "contact_force", "gap")},
                         {"displacement": "m", "velocity": "m/s", "contact_force": "N", "gap": "m"})  # fmt: skip
        self.assertLessEqual(set(units), {*self.brick.frames[0].point_data, *self.brick.frames[0].cell_data})

    def test_parts_have_blocks_with_their_names(self):
        frame = self.mixed.frames[0]
        names = ["bodies/" + body["name"] for body in self.mixed.model["bodies"]]
        names += ["joints/" + joint["name"] for joint in self.mixed.model["joints"]]
        self.assertLessEqual(set(names), set(frame.blocks))
        self.assertEqual(sum(len(frame.cells_of(name)) for name in frame.blocks), len(frame.types))
        for number, body in enumerate(self.mixed.model["bodies"]):
            self.assertEqual(set(frame.cell_data["body"][frame.cells_of("bodies/" + body["name"])]), {number})
        with self.assertRaisesRegex(carom.ResultsError, "no block 'bodies/nobody'; there are bodies/"):
            frame.cells_of("bodies/nobody")

    @unittest.skipUnless(has("lz4"), "lz4 for Python is not installed")
    def test_blocks_are_the_same_without_the_package_lz4(self):
        for results in (self.brick, self.mixed):
            with_package = results.frames[-1]
            with mock.patch.object(carom_frames, "_lz4", None):
                without = results.frames[-1]
            self.assertEqual(with_package.points.tobytes(), without.points.tobytes())
            for name, values in with_package.point_data.items():
                self.assertEqual(values.tobytes(), without.point_data[name].tobytes())

    def test_blocks_are_decoded_as_their_format_says(self):
        def decoded(block, size):
            with mock.patch.object(carom_frames, "_lz4", None):
                return carom_frames._decompress(memoryview(block), size)

        # token: 4 bits of literals, 4 bits of match length less 4; distance in two bytes; long lengths go on in bytes
        self.assertEqual(decoded(b"\x50abcde", 5), b"abcde")
        self.assertEqual(decoded(b"\x11a\x01\x00\x50bcdef", 11), b"aaaaaabcdef")
        self.assertEqual(decoded(b"\x32abc\x03\x00\x50vwxyz", 14), b"abcabcabcvwxyz")
        self.assertEqual(decoded(b"\x1fa\x01\x00\xff\x05\x50vwxyz", 285), b"a" * 280 + b"vwxyz")
        self.assertEqual(decoded(b"\xf0\xff\x03" + b"q" * 273, 273), b"q" * 273)
        for block, size in ((b"\x50abcd", 5), (b"\x11a\x02\x00\x50bcdef", 11), (b"\x50abcde", 6), (b"\xf0\xff", 300)):
            with self.assertRaises((ValueError, IndexError)):
                decoded(block, size)

    def test_damaged_and_foreign_files_are_named(self):
        copy = self.folder / "copy"
        shutil.copytree(self.brick.directory, copy)
        results = carom.Results(copy)
        file = results.frames.files[1]
        content = file.read_bytes()
        for damaged in (content[: len(content) // 2], content[:-200], b"", b"<VTKFile/>", content.replace(b"LZ4", b"Zip")):
            file.write_bytes(damaged)
            with self.subTest(size=len(damaged)), self.assertRaisesRegex(carom.ResultsError, file.name):
                _ = results.frames[1]
        file.unlink()
        with self.assertRaisesRegex(carom.ResultsError, file.name):
            _ = results.frames[1]

    def test_packages_for_meshes_are_used_where_present_and_named_where_not(self):
        frame = self.mixed.frames[-1]
        for package, call in (("meshio", frame.to_meshio), ("pyvista", frame.to_pyvista)):
            with mock.patch.dict(sys.modules, {package: None}):
                with self.assertRaisesRegex(carom.MissingPackage, package):
                    call()
        if has("meshio"):
            mesh = frame.to_meshio()
            np.testing.assert_array_equal(mesh.points, frame.points)
            self.assertEqual(sum(len(block.data) for block in mesh.cells), len(frame.types))
            np.testing.assert_array_equal(np.concatenate(mesh.cell_data["body"]), frame.cell_data["body"])
            nodes = np.concatenate([block.data.ravel() for block in mesh.cells])
            np.testing.assert_array_equal(nodes, frame.connectivity)
        if has("pyvista"):
            np.testing.assert_array_equal(frame.to_pyvista().points, frame.points)


class Notebook(Case):
    def test_the_notebook_is_valid_and_its_cells_run(self):
        examples = self.folder / "apps" / "python" / "examples"
        examples.mkdir(parents=True)
        (self.folder / "data").symlink_to(ROOT / "data")
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(examples)
        files = sorted((PACKAGE / "examples").glob("*.ipynb"))
        self.assertTrue(files)
        for file in files:
            notebook = json.loads(file.read_text(encoding="utf-8"))
            self.check_format(notebook)
            space = {"__name__": "__main__"}
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    with self.subTest(file=file.name, cell=cell["id"]), mock.patch("builtins.print"):
                        exec(compile("".join(cell["source"]), f"{file.name}:{cell['id']}", "exec"), space)

    def check_format(self, notebook):
        if has("nbformat"):
            import nbformat

            nbformat.validate(notebook)
        # what version 4.5 of the format demands
        self.assertEqual((notebook["nbformat"], notebook["nbformat_minor"]), (4, 5))
        self.assertEqual(set(notebook), {"cells", "metadata", "nbformat", "nbformat_minor"})
        names = [cell["id"] for cell in notebook["cells"]]
        self.assertEqual(len(set(names)), len(names))
        for cell in notebook["cells"]:
            self.assertRegex(cell["id"], r"^[a-zA-Z0-9-_]{1,64}$")
            keys = {"cell_type", "id", "metadata", "source"}
            if cell["cell_type"] == "code":
                self.assertEqual((cell["execution_count"], cell["outputs"]), (None, []))
                keys |= {"execution_count", "outputs"}
            self.assertEqual(set(cell), keys)
            self.assertTrue(all(isinstance(line, str) for line in cell["source"]))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
