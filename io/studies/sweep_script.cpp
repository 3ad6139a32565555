#include "io/studies/sweep_script.hpp"

#include <fmt/format.h>

#include "io/schema/json_source.hpp"

namespace carom {

namespace {

std::string shell_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + shell_word(word);
  return out;
}

/// A name that Slurm's comments can hold: no blanks, no line ends.
std::string job_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    out += plain ? c : '_';
  }
  return out + "-sweep";
}

std::string here() { return shell_word(std::filesystem::current_path().string()); }

}  // namespace

std::string slurm_script(const SweepScript& s) {
  constexpr std::size_t most_tasks = 1000;
  const std::size_t block = (s.points + most_tasks - 1) / most_tasks, tasks = (s.points + block - 1) / block;
  return fmt::format(
      "#!/bin/bash\n"
      "# Written by carom sweep: {0} points, {1} per task. Submit it with: sbatch FILE\n"
      "# A task that was stopped may be submitted again: its points go on where they were.\n"
      "#SBATCH --job-name={2}\n"
      "#SBATCH --array=1-{3}{4}\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --output=/dev/null\n"
      "cd {5} || exit 5\n"
      "first=$(((SLURM_ARRAY_TASK_ID - 1) * {1} + 1))\n"
      "last=$((first + {1} - 1))\n"
      "if ((last > {0})); then last={0}; fi\n"
      "exec {6} --quiet --jobs \"${{SLURM_CPUS_PER_TASK:-1}}\" --points \"$first-$last\" {7} \\\n"
      "  2>{8}/\"$SLURM_ARRAY_TASK_ID.log\"\n",
      s.points, block, job_name(s.name), tasks, s.jobs ? fmt::format("%{}", *s.jobs) : "", here(),
      shell_words(s.command), shell_words(s.last), shell_word((s.directory / "slurm").string()));
}

std::string parallel_script(const SweepScript& s) {
  return fmt::format(
      "#!/bin/bash\n"
      "# Written by carom sweep: {0} points by GNU parallel; its options may be given to this script, such as\n"
      "# --sshloginfile FILE. Started again, it goes on with the points that are not done.\n"
      "cd {1} || exit 5\n"
      "solve() {{\n"
      "  cd {1} || exit 5\n"
      "  {2} --quiet --jobs 1 --points \"$1\" {3}\n"
      "}}\n"
      "export -f solve\n"
      "seq 1 {0} | parallel --env solve {4}\"$@\" solve\n",
      s.points, here(), shell_words(s.command), shell_words(s.last), s.jobs ? fmt::format("--jobs {} ", *s.jobs) : "");
}

}  // namespace carom
