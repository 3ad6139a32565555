// Restart from damaged checkpoints, of edited models, in directories in use: what cannot go on is refused and leaves
// all files unchanged.
#include <doctest/doctest.h>

#include <csignal>

#include "tests/cli/restart_runs.hpp"

using namespace carom::cli_test;

// ---- damaged checkpoints, and none

namespace {

/// Cuts the file at half its length, or inverts a byte in its middle, or empties the file.
void damage(const fs::path& file, const std::string& how) {
  std::string bytes = read(file);
  char& middle = bytes.at(bytes.size() / 2);
  if (how == "flipped") middle = static_cast<char>(~middle);
  if (how != "flipped") bytes.resize(how == "empty" ? 0 : bytes.size() / 2);
  write(file, bytes);
}

}  // namespace

TEST_CASE("restart: a damaged newest checkpoint is passed over with a remark, and the bytes are the same") {
  const TemporaryDirectory directory;
  const Words settings = {"--set", "/output/checkpoint/every=100", "--until"};
  REQUIRE(run_carom(directory, chain("whole", joined(settings, {"0.08"}))).code == 0);
  for (const char* word : {"last", "auto"})
    for (const char* how : {"cut", "flipped", "empty"}) {
      CAPTURE(word);
      CAPTURE(how);
      fs::remove_all(directory / "r");
      REQUIRE(run_carom(directory, chain("r", joined(settings, {"0.06"}))).code == 0);
      REQUIRE(newest(directory / "r").filename() == "000000000300.cbor");
      damage(newest(directory / "r"), how);
      const Words again = {"run", model_path("bead_chain"), "--set", "/expect=[]", "-o", "r", "--restart", word};
      const Outcome outcome = run_carom(directory, joined(again, joined(settings, {"0.08"})));
      CHECK(outcome.code == 0);
      CHECK(contains(outcome.err, "note: passed over a newer checkpoint: r/checkpoint/000000000300.cbor is "));
      CHECK(contains(outcome.err, "note: goes on from r/checkpoint/000000000200.cbor at t = 0.04\n"));
      const std::string remark = read_json(directory / "r/summary.json")["warnings"].back();
      CHECK(contains(remark, "passed over"));
      for (const char* name : {"probes.csv", "events.csv", "energy.csv"})
        CHECK((read(directory / "r" / name) == read(directory / "whole" / name)));
    }
}

TEST_CASE(
    "restart: \"auto\" begins where no checkpoint is readable and goes on where one is; \"last\" begins nothing") {
  const TemporaryDirectory directory;
  REQUIRE(run_carom(directory, chain("whole", {"--until", "0.1"})).code == 0);
  const Words on = {"--restart", "auto", "--until"};
  REQUIRE(run_carom(directory, chain("r", joined(on, {"0.05"}))).code == 0);
  CHECK(!read_json(directory / "r/summary.json").contains("restarted_from"));
  REQUIRE(run_carom(directory, chain("r", joined(on, {"0.1"}))).code == 0);
  CHECK(read_json(directory / "r/summary.json").contains("restarted_from"));
  check_same_results(directory / "whole", directory / "r");

  // the model no longer fits: an error and no new beginning, which would remove the results
  const auto before = snapshot(directory / "r");
  CHECK(run_carom(directory, chain("r", {"--restart", "auto", "--set", "/bodies/0/position/2=3"})).code == 3);
  CHECK((snapshot(directory / "r") == before));

  for (const fs::directory_entry& entry : fs::directory_iterator(directory / "r/checkpoint"))
    damage(entry.path(), "flipped");
  const Outcome none = run_carom(directory, chain("r", {"--restart", "last"}));
  CHECK(none.code == 5);
  CHECK(contains(none.err, "carom: no checkpoint in r/checkpoint can be read: r/checkpoint/"));
  const Outcome anew = run_carom(directory, {"run", model_path("bead_chain"), "--set", "/expect=[]", "-o", "r",
                                             "--restart", "auto", "--until", "0.1"});
  CHECK(anew.code == 0);
  CHECK(contains(anew.err, "note: begins anew, since no checkpoint can be read: r/checkpoint/"));
  for (const char* name : {"probes.csv", "events.csv", "energy.csv"})
    CHECK((read(directory / "r" / name) == read(directory / "whole" / name)));
}

// ---- two runs in one directory

TEST_CASE("a directory of results in use is refused with the holder's pid, and a killed run blocks nothing") {
  const TemporaryDirectory directory;
  const Words endless = chain("r", {"--set", "/integrator/step=1e-6"});
  {
    Process process(directory, endless);
    REQUIRE(wait_for(directory / "r/vtu/bead_chain_000001.vtu", process));
    const std::string pid = std::to_string(read_json(directory / "r/status.json")["pid"].get<long>());
    for (const Words& more : {Words{}, Words{"--restart", "auto"}}) {
      const Outcome outcome = run_carom(directory, chain("r", joined(more, {"--until", "0.01"})));
      CHECK(outcome.code == 5);
      CHECK(outcome.out.empty());
      CHECK(outcome.err.starts_with("carom: the results in r are in use by process " + pid + " on "));
      CHECK(lines_of(outcome.err).size() == 1);
    }
    CHECK(run_carom(directory, chain("other", {"--until", "0.01"})).code == 0);
    CHECK(process.running());
    process.send(SIGKILL);
    process.wait();
  }
  CHECK(fs::exists(directory / "r/.carom.lock"));
  CHECK(run_carom(directory, chain("r", {"--until", "0.01"})).code == 0);
  CHECK(!fs::exists(directory / "r/.carom.lock"));

  // where no lock can be had the run goes on without it
  fs::create_directories(directory / "r/.carom.lock/in_the_way");
  CHECK(run_carom(directory, chain("r", {"--until", "0.01"})).code == 0);
}

// ---- an edited model

TEST_CASE("restart: an edited model is accepted where that makes sense, and the differences are listed") {
  const TemporaryDirectory directory;
  REQUIRE(run_carom(directory, brick("r", {"-q", "--until", "0.3"})).code == 0);
  fs::copy(directory / "r", directory / "first", fs::copy_options::recursive);
  const auto edited = [&](const std::string& set) {
    fs::remove_all(directory / "r");
    fs::copy(directory / "first", directory / "r", fs::copy_options::recursive);
    const Outcome outcome = run_carom(directory, brick("r", {"--until", "0.6", "--restart", "last", "--set", set}));
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.err, "note: goes on from r/checkpoint/000000000300.cbor at t = 0.3\n"));
    return outcome.err;
  };
  const std::string softer = edited("/contacts/0/restitution=0.25");
  CHECK(contains(softer, "note: /contacts/0/restitution is now 0.25, was "));
  CHECK(!contains(softer, "changed the energy"));
  CHECK(contains(edited("/bodies/0/mass=7"), "note: /bodies/0/mass is now 7, was "));

  // less gravity changes the energy of the state, which the ledger must not count as an error
  const std::string weaker = edited("/gravity/2=-1");
  CHECK(contains(weaker, "note: /gravity/2 is now -1, was "));
  CHECK(contains(weaker, "note: the edit of the model changed the energy by -"));
  const nlohmann::json energy = read_json(directory / "r/summary.json")["energy"];
  CHECK(std::abs(energy["closure"].get<double>()) < 1e-10 * energy["scale"].get<double>());

  // another step: a new grid of time from the restart on, to the same end, also over a second restart
  CHECK(contains(edited("/integrator/step=0.0005"), "note: /integrator/step is now 5e-04, was 0.001\n"));
  CHECK(read_json(directory / "r/summary.json")["time"]["end"].get<double>() == doctest::Approx(0.6).epsilon(1e-13));
  CHECK(read_csv(directory / "r/probes.csv").rows.size() == 901);
  const Words half = {"-q", "--set", "/integrator/step=0.0005", "--restart", "last", "--until"};
  CHECK(run_carom(directory, brick("r", joined(half, {"0.8"}))).code == 0);
  CHECK(read_json(directory / "r/summary.json")["time"]["end"].get<double>() == doctest::Approx(0.8).epsilon(1e-13));
  CHECK(read_csv(directory / "r/probes.csv").rows.size() == 1301);
}

TEST_CASE("restart: what it cannot change is refused by path, and nothing is touched") {
  const TemporaryDirectory directory;
  REQUIRE(run_carom(directory, brick("r", {"-q", "--until", "0.1"})).code == 0);
  const auto before = snapshot(directory / "r");
  const auto refused = [&](const Words& more) {
    const Outcome outcome = run_carom(directory, joined(brick("r", {"--restart", "last"}), more));
    CHECK(outcome.code == 3);
    CHECK(outcome.out.empty());
    CHECK((snapshot(directory / "r") == before));
    return outcome.err;
  };
  const std::string place = refused({"--set", "/bodies/0/position/2=1.5"});
  CHECK(contains(place, "/bodies/0/position/2: a restart cannot change the initial state (checkpoint: "));
  CHECK(contains(refused({"--set", "/integrator/start_time=0.5"}),
                 "/integrator/start_time: a restart cannot change the initial state"));
  CHECK(contains(refused({"--set", "/bodies/0/name=stone", "--set", "/contacts=[]", "--set", "/output/probes=[]"}),
                 "a restart cannot change bodies, joints or contacts in number or kind"));
  CHECK(contains(refused({"--until", "0.05"}),
                 "--until 0.05: error: the run would end at t = 0.05, before the checkpoint's t = 0.1"));

  // a checkpoint of another model
  REQUIRE(run_carom(directory, chain("c", {"--until", "0.01"})).code == 0);
  const Outcome other = run_carom(directory, brick("r", {"--restart", newest(directory / "c").string()}));
  CHECK(other.code == 3);
  CHECK(contains(other.err, "a restart cannot change bodies, joints or contacts in number or kind"));
  CHECK((snapshot(directory / "r") == before));
}

// ---- files that cannot be used

TEST_CASE("restart: a damaged, foreign or missing checkpoint ends with 5, and nothing is touched") {
  const TemporaryDirectory directory;
  REQUIRE(run_carom(directory, brick("r", {"-q", "--until", "0.1"})).code == 0);
  const auto before = snapshot(directory / "r");
  const std::string good = read(newest(directory / "r"));
  const auto refused = [&](const std::string& content) {
    write(directory / "x.cbor", content);
    const Outcome outcome = run_carom(directory, brick("r", {"--restart", "x.cbor"}));
    CHECK(outcome.out.empty());
    CHECK(contains(outcome.err, "carom: x.cbor is "));
    CHECK((snapshot(directory / "r") == before));
    return outcome.code;
  };
  CHECK(refused("") == 5);
  CHECK(refused("{\"format\": 1}") == 5);
  CHECK(refused(std::string(5000000, '\x81')) == 5);  // an array of an array of an array...
  CHECK(refused(std::string("\xa3\x64"
                            "body") +
                std::string(5000000, '\x81')) == 5);
  CHECK(refused(good + "x") == 5);
  for (const double share : {0.0001, 0.3, 0.9, 0.9999}) {
    CAPTURE(share);
    const std::size_t at = static_cast<std::size_t>(share * static_cast<double>(good.size()));
    CHECK(refused(good.substr(0, at)) == 5);
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    CHECK(refused(bad) == 5);
  }
  for (const char* name : {"missing.cbor", "."}) {
    const Outcome outcome = run_carom(directory, brick("r", {"--restart", name}));
    CHECK(outcome.code == 5);
    CHECK(outcome.err.starts_with("carom: cannot read the checkpoint "));
  }
  CHECK((snapshot(directory / "r") == before));
}

TEST_CASE("restart: without a checkpoint `last` ends with 5") {
  const TemporaryDirectory directory;
  const Outcome outcome = run_carom(directory, brick("r", {"--restart", "last"}));
  CHECK(outcome.code == 5);
  CHECK(outcome.err == "carom: there is no checkpoint in r/checkpoint\n");
  CHECK(!fs::exists(directory / "r"));
}

TEST_CASE("restart: a table that is not what it was ends with 5, and keeps its rows") {
  const TemporaryDirectory directory;
  REQUIRE(run_carom(directory, brick("r", {"-q", "--until", "0.1"})).code == 0);
  const std::string good = read(directory / "r/probes.csv");
  const auto refused = [&](const std::string& content) {
    write(directory / "r/probes.csv", content);
    const Outcome outcome = run_carom(directory, brick("r", {"--restart", "last"}));
    CHECK(outcome.code == 5);
    CHECK((read(directory / "r/probes.csv") == content));
    CHECK(read_json(directory / "r/status.json")["status"] == "stopped");
    return outcome.err;
  };
  CHECK(contains(refused(good.substr(0, good.size() / 2)),
                 "carom: cannot continue r/probes.csv: it is shorter than when the checkpoint was written"));
  CHECK(contains(refused(good.substr(0, good.size() - 1) + "0\n"), "it has been changed since"));
  CHECK(contains(refused("t,other\n" + good), "its columns are not those of the checkpoint"));
  CHECK(contains(refused(""), "it cannot be read"));
  fs::remove(directory / "r/probes.csv");
  CHECK(run_carom(directory, brick("r", {"--restart", "last"})).code == 5);
  write(directory / "r/probes.csv", good);
  CHECK(run_carom(directory, brick("r", {"-q", "--restart", "last"})).code == 0);
}
