#include "io/studies/gnuplot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "io/results/atomic_file.hpp"

namespace carom {

namespace {

namespace fs = std::filesystem;

// sizes in pixels; a PDF has 96 of them in an inch
constexpr double panel_height = 210, panel_gap = 24, below = 58, plot_width = 640, letter = 7.6, line_height = 20,
                 row_height = 24;

// colours that colour-blind readers can distinguish (Okabe, Ito 2008)
constexpr std::array<const char*, 7> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#e69f00", "#56b4e9", "#000000"};
// point types of gnuplot that show through each other: circle, cross, square, triangle, plus, diamond
constexpr std::array<int, 6> marks = {6, 2, 4, 8, 1, 12};

/// Length of the UTF-8 character at the beginning of the text; 0 if there is none.
std::size_t character_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  if (s.empty()) return 0;
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t n = first >= 0xC2 && first < 0xE0   ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (n == 0 || s.size() < n) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // longer than need be, halves of UTF-16, above U+10FFFF
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) >= 0xA0) || (first == 0xF0 && byte(1) < 0x90) ||
      (first == 0xF4 && byte(1) >= 0x90))
    return 0;
  return n;
}

std::size_t count_of_characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// A string of gnuplot in single quotes, in which nothing is special but the quote itself. A quote becomes the sign for
/// an apostrophe: gnuplot 5.4 loses labels of ticks that begin with a doubled quote, and reads octal numbers in double
/// quotes past their third digit.
std::string string_of(const std::string& text) {
  std::string out = "'";
  for (const char c : drawn_text(text)) out += c == '\'' ? "\u2019" : std::string(1, c);
  return out + "'";
}

/// A label of a tick, in which % begins a format.
std::string tick_string(const std::string& text) {
  std::string out;
  for (const char c : drawn_text(text)) out += c == '%' ? "%%" : std::string(1, c);
  return string_of(out);
}

/// A file in the folder of the script. A name is not shortened. Precondition: no control characters.
std::string quoted_file(const fs::path& file) {
  std::string out = "'./";
  for (const char c : file.filename().string()) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

bool drawable(double x, double y, bool logarithmic_x, bool logarithmic_y) {
  return std::isfinite(x) && std::isfinite(y) && (!logarithmic_x || x > 0) && (!logarithmic_y || y > 0);
}

/// The points that a picture can show: all, or the first, the extremes and the last of short spans.
std::vector<std::size_t> shown_points(const Figure::Curve& c) {
  constexpr std::size_t spans = 1200;
  const std::size_t n = std::min(c.x.size(), c.y.size());
  std::vector<std::size_t> shown;
  if (n <= 4 * spans || c.style == Figure::Style::points || c.style == Figure::Style::line_and_points) {
    for (std::size_t i = 0; i < n; ++i) shown.push_back(i);
    return shown;
  }
  for (std::size_t s = 0; s < spans; ++s) {
    const std::size_t first = s * n / spans, end = (s + 1) * n / spans;
    std::size_t least = first, most = first, gap = first;
    for (std::size_t i = first; i < end; ++i) {
      if (!(c.y[i] >= c.y[least])) least = i;
      if (!(c.y[i] <= c.y[most])) most = i;
      if (!std::isfinite(c.y[i])) gap = i;
    }
    std::array<std::size_t, 5> points = {first, least, most, gap, end - 1};
    std::sort(points.begin(), points.end());
    for (const std::size_t p : points)
      if (shown.empty() || shown.back() != p) shown.push_back(p);
  }
  return shown;
}

std::string data_text(const Figure& figure, const fs::path& picture) {
  std::string out = "# Numbers of " + drawn_text(picture.filename().string()) + ": one block per curve.\n";
  std::size_t block = 0;
  for (const Figure::Panel& panel : figure.panels)
    for (const Figure::Curve& curve : panel.curves) {
      if (!can_be_drawn(curve, figure.logarithmic, panel.logarithmic)) continue;
      const std::vector<std::size_t> shown = shown_points(curve);
      out += fmt::format("{}# block {}: {}: {}{}\n", block == 0 ? "" : "\n\n", block, drawn_text(panel.label),
                         drawn_text(curve.name),
                         shown.size() < curve.x.size() ? fmt::format("; extremes of {} rows", curve.x.size()) : "");
      for (const std::size_t i : shown) {
        for (const double value : {curve.x[i], curve.y[i]}) {
          if (std::isfinite(value))
            append_number(out, value);
          else
            out += "NaN";
          out += ' ';
        }
        out.back() = '\n';
      }
      ++block;
    }
  return out;
}

/// The range of the horizontal axis, the same in all panels.
std::pair<double, double> horizontal_range(const Figure& figure) {
  if (figure.range) return *figure.range;
  if (!figure.places.empty()) return {-0.5, static_cast<double>(figure.places.size()) - 0.5};
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const Figure::Panel& panel : figure.panels)
    for (const Figure::Curve& c : panel.curves)
      for (std::size_t i = 0; i < std::min(c.x.size(), c.y.size()); ++i)
        if (drawable(c.x[i], c.y[i], figure.logarithmic, panel.logarithmic))
          low = std::min(low, c.x[i]), high = std::max(high, c.x[i]);
  if (!(low <= high)) return {1, 2};
  if (low < high) return {low, high};
  if (figure.logarithmic) return {0.5 * low, 2 * low};
  const double half = low != 0 ? 0.1 * std::abs(low) : 1;
  return {low - half, low + half};
}

/// A range for values that are constant but for rounding; otherwise gnuplot finds it.
std::string vertical_range(const Figure& figure, const Figure::Panel& panel) {
  if (!panel.rows.empty()) return fmt::format("[{}:-0.7]", static_cast<double>(panel.rows.size()) - 0.3);
  if (panel.range) return fmt::format("[{}:{}]", panel.range->first, panel.range->second);
  const auto drawn = [&](const Figure::Curve& c) { return can_be_drawn(c, figure.logarithmic, panel.logarithmic); };
  if (std::none_of(panel.curves.begin(), panel.curves.end(), drawn)) return "[1:10]";
  if (panel.logarithmic) return "[*:*]";
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const Figure::Curve& c : panel.curves)
    for (std::size_t i = 0; i < c.y.size(); ++i)
      if (drawable(c.x[i], c.y[i], figure.logarithmic, false))
        low = std::min(low, c.y[i]), high = std::max(high, c.y[i]);
  const double size = std::max(std::abs(low), std::abs(high));
  if (high - low > 1e-12 * size) return "[*:*]";
  const double half = size > 0 ? 0.1 * size : 1;
  return fmt::format("[{}:{}]", low - half, high + half);
}

/// Labels at 2 and 5 between the powers of ten of a short logarithmic axis; empty for a long one.
std::string labels_between(const char* axis, double low, double high) {
  if (!(low > 0) || !(high < 160 * low)) return {};
  std::string out;
  for (int k = static_cast<int>(std::floor(std::log10(low))); k <= std::log10(high); ++k)
    for (const int m : {2, 5}) {
      const double x = m * std::pow(10, k);
      if (x < low || x > high) continue;
      out += fmt::format("{}'{:g}' {}", out.empty() ? "" : ", ", x, x);
    }
  return out.empty() ? out : fmt::format("set {}tics add ({})\n", axis, out);
}

class Script {
 public:
  Script(const Figure& figure, const fs::path& picture) : figure_(figure), picture_(picture) {
    std::size_t legend = 0, rows = 0;
    above_ = (figure.title.empty() ? 20 : 52) + (figure.subtitle.empty() ? 0 : 22);
    height_ = above_ + below;
    for (const Figure::Panel& panel : figure.panels) {
      for (const Figure::Curve& c : panel.curves) legend = std::max(legend, count_of_characters(drawn_text(c.name)));
      for (const std::string& r : panel.rows) rows = std::max(rows, count_of_characters(drawn_text(r)));
      const double legend_height = line_height * static_cast<double>(panel.curves.size()) + 10;
      const double axis_height = panel.rows.empty()
                                     ? (panel.tall ? 1.7 : 1.0) * panel_height
                                     : std::max(90.0, row_height * static_cast<double>(panel.rows.size() + 1));
      heights_.push_back(std::max(axis_height, legend_height));
      height_ += heights_.back();
    }
    height_ += panel_gap * static_cast<double>(std::max<std::size_t>(1, figure.panels.size()) - 1);
    left_ = std::max(110.0, 50 + letter * static_cast<double>(rows));
    right_ = 70 + letter * static_cast<double>(legend);
    width_ = left_ + plot_width + right_;
  }

  std::string text() {
    const std::string ending = picture_.extension().string();
    out_ = "# Written by carom. To draw the picture again, in this folder: gnuplot " +
           drawn_text(script_beside(picture_).filename().string()) + "\n";
    out_ += "set encoding utf8\n";
    if (ending == ".svg")
      out_ += fmt::format("set terminal svg noenhanced size {:.0f},{:.0f} font 'DejaVu Sans,13' background 'white'\n",
                          width_, height_);
    else if (ending == ".pdf")
      out_ += fmt::format("set terminal pdfcairo noenhanced size {:.3f}in,{:.3f}in font 'DejaVu Sans,10'\n",
                          width_ / 96, height_ / 96);
    else  // twice the pixels, for sharp text
      out_ += fmt::format(
          "set terminal pngcairo noenhanced size {:.0f},{:.0f} font 'DejaVu Sans,10' fontscale 2 "
          "linewidth 2 pointscale 2\n",
          2 * width_, 2 * height_);
    out_ += "set output " + quoted_file(picture_) + "\n";
    out_ += "data = " + quoted_file(data_beside(picture_)) + "\n";
    out_ += "set datafile missing 'NaN'\n";
    out_ += "set border linewidth 0.8 linecolor '#444444'\nset grid linetype 1 linewidth 0.5 linecolor '#dddddd'\n";
    out_ += fmt::format("set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\n", left_ / width_,
                        1 - right_ / width_);
    if (figure_.logarithmic) out_ += "set logscale x\n";
    const auto [from, to] = horizontal_range(figure_);
    out_ += fmt::format("set xrange [{}:{}]\n", from, to);
    out_ += "set multiplot\n";
    if (!figure_.title.empty())
      out_ += fmt::format("set label 1 {} at screen {:.5f}, screen {:.5f} left font ',15'\n", string_of(figure_.title),
                          left_ / width_, 1 - 28 / height_);
    if (!figure_.subtitle.empty())
      out_ += fmt::format("set label 2 {} at screen {:.5f}, screen {:.5f} left textcolor rgb '#555555'\n",
                          string_of(figure_.subtitle), left_ / width_, 1 - (above_ - 22) / height_);
    double top = above_;
    for (std::size_t i = 0; i < figure_.panels.size(); ++i) {
      panel(i, top);
      top += heights_[i] + panel_gap;
    }
    return out_ + "unset multiplot\nset output\n";
  }

 private:
  void panel(std::size_t i, double top) {
    const Figure::Panel& panel = figure_.panels[i];
    const bool last = i + 1 == figure_.panels.size();
    out_ += fmt::format("\nset tmargin at screen {:.5f}\nset bmargin at screen {:.5f}\n", 1 - top / height_,
                        1 - (top + heights_[i]) / height_);
    out_ += panel.logarithmic ? "set logscale y\nset format y '%g'\n" : "unset logscale y\nset format y\n";
    out_ += "set yrange " + vertical_range(figure_, panel) + "\n";
    out_ += fmt::format("set ylabel {}\n", string_of(panel.label));
    if (panel.rows.empty()) {
      out_ += "set ytics autofreq\n";
      if (panel.logarithmic && panel.range) out_ += labels_between("y", panel.range->first, panel.range->second);
    } else {
      out_ += "set ytics (";
      for (std::size_t k = 0; k < panel.rows.size(); ++k)
        out_ += fmt::format("{}{} {}", k == 0 ? "" : ", ", tick_string(panel.rows[k]), k);
      out_ += ")\n";
    }
    out_ +=
        last ? "set format x '%g'\nset xlabel " + string_of(figure_.x_label) + "\n" : "set format x ''\nunset xlabel\n";
    if (figure_.logarithmic && figure_.range && last)
      out_ += labels_between("x", figure_.range->first, figure_.range->second);
    if (!figure_.places.empty()) {
      out_ += "set xtics (";
      for (std::size_t k = 0; k < figure_.places.size(); ++k)
        out_ += fmt::format("{}{} {}", k == 0 ? "" : ", ", last ? tick_string(figure_.places[k]) : "''", k);
      out_ += ")\n";
    }
    out_ += "set key at graph 1.015, graph 1 left top Left reverse noenhanced samplen 2\n";
    std::string curves;
    std::size_t k = 0;  // of the curves with colours
    for (const Figure::Curve& c : panel.curves) {
      const bool coloured = c.style != Figure::Style::guide && c.style != Figure::Style::background;
      if (can_be_drawn(c, figure_.logarithmic, panel.logarithmic))
        curves += fmt::format("{}data index {} using 1:2 title {} with {}", curves.empty() ? "plot " : ", \\\n     ",
                              block_++, string_of(c.name), appearance(c.style, k));
      if (coloured) ++k;
    }
    if (curves.empty()) curves = "plot NaN notitle";
    out_ += curves + "\n";
    if (i == 0 && !figure_.title.empty()) out_ += "unset label 1\n";
    if (i == 0 && !figure_.subtitle.empty()) out_ += "unset label 2\n";
  }

  /// What follows "with" for coloured curve number k; after the seventh the colours begin again with broken lines.
  static std::string appearance(Figure::Style style, std::size_t k) {
    const char* const colour = colours[k % colours.size()];
    const int mark = marks[k % marks.size()];
    switch (style) {
      case Figure::Style::points:
        return fmt::format("points pointtype {} pointsize 0.8 linecolor '{}'", mark, colour);
      case Figure::Style::line_and_points:
        return fmt::format("linespoints linewidth 1.5 dashtype {} pointtype {} pointsize 0.7 linecolor '{}'",
                           1 + k / colours.size() % 4, mark, colour);
      case Figure::Style::guide:
        return "lines linewidth 1.2 dashtype 2 linecolor '#888888'";
      case Figure::Style::background:
        return "lines linewidth 4 linecolor '#bbbbbb'";
      case Figure::Style::line:
        break;
    }
    return fmt::format("lines linewidth 1.5 dashtype {} linecolor '{}'", 1 + k / colours.size() % 4, colour);
  }

  const Figure& figure_;
  fs::path picture_;
  std::vector<double> heights_;
  double width_ = 0, height_ = 0, above_ = 0, left_ = 0, right_ = 0;
  std::size_t block_ = 0;
  std::string out_;
};

/// Runs gnuplot in the folder; returns what it printed, and its status of waitpid().
std::pair<std::string, int> run_gnuplot(const fs::path& folder, const std::string& script) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw FileError(std::string("no pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  // without the user's settings; the name is not an option, because it begins with "./"
  std::string program = "gnuplot", option = "-d", name = "./" + script;
  char* arguments[] = {program.data(), option.data(), name.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed != 0) {
    close(ends[0]);
    throw PictureError(failed == ENOENT || failed == EACCES || failed == ENOTDIR
                           ? std::string("pictures need the program gnuplot, which is not there (Debian: gnuplot-nox)")
                           : std::string("cannot start gnuplot: ") + std::strerror(failed));
  }
  std::string printed;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t size = ::read(ends[0], buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    printed.append(buffer.data(), static_cast<std::size_t>(size));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {printed, status};
}

/// A new folder for files that nobody keeps; removed with its content at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "carom_plot_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw FileError("cannot create " + pattern + ": " + std::strerror(errno));
    path = pattern;
  }
  ~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  fs::path path;
};

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t i = text.find(from); i != std::string::npos; i = text.find(from, i + to.size()))
    text.replace(i, from.size(), to);
}

// Controls of the direction of text: they reverse the text that follows.
bool reverses_text(std::string_view character) {
  return (character >= "\u202A" && character <= "\u202E") || (character >= "\u2066" && character <= "\u2069");
}

}  // namespace

const std::vector<std::string>& picture_endings() {
  static const std::vector<std::string> endings = {".svg", ".pdf", ".png"};
  return endings;
}

fs::path script_beside(const fs::path& picture) { return fs::path(picture) += ".gp"; }
fs::path data_beside(const fs::path& picture) { return fs::path(picture) += ".dat"; }

bool can_be_drawn(const Figure::Curve& curve, bool logarithmic_x, bool logarithmic_y) {
  for (std::size_t i = 0; i < std::min(curve.x.size(), curve.y.size()); ++i)
    if (drawable(curve.x[i], curve.y[i], logarithmic_x, logarithmic_y)) return true;
  return false;
}

std::string drawn_text(const std::string& text, std::size_t longest) {
  std::string out;
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++count) {
    if (count == longest) return out + "\u2026";
    const std::size_t n = character_length(std::string_view(text).substr(i));
    const unsigned char first = static_cast<unsigned char>(text[i]);
    const std::string_view character = std::string_view(text).substr(i, n);
    if (n == 0)
      out += "\uFFFD";
    else if (reverses_text(character) || first < 0x20 || first == 0x7F ||
             (first == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0))
      out += ' ';
    else
      out.append(text, i, n);
    i += std::max<std::size_t>(1, n);
  }
  return out;
}

void draw(const Figure& figure, const fs::path& picture) {
  write_atomically(data_beside(picture), data_text(figure, picture));
  write_atomically(script_beside(picture), Script(figure, picture).text());
  // gnuplot would write through a link; afterwards the file shows that gnuplot has drawn
  std::error_code error;
  if (fs::is_directory(picture, error)) throw FileError("cannot write " + picture.string() + ": it is a directory");
  fs::remove(picture, error);
  const fs::path folder = picture.has_parent_path() ? picture.parent_path() : fs::path(".");
  const auto [printed, status] = run_gnuplot(folder, script_beside(picture).filename().string());
  if (status == 0 && fs::exists(picture, error)) return;
  const std::string reason = drawn_text(printed.substr(0, 2000), 1000);
  throw PictureError("gnuplot did not draw " + picture.string() + (reason.empty() ? "" : ": " + reason) +
                     " (its script: " + script_beside(picture).string() + ")");
}

std::string inline_svg(const Figure& figure, const std::string& prefix) {
  const TemporaryFolder folder;
  draw(figure, folder.path / "plot.svg");
  std::string svg = read_content(folder.path / "plot.svg");
  svg.erase(0, svg.find("<svg"));
  for (const char* name : {"gnuplot_", "gpDot", "gpPt", "textbox", "greybox"})
    for (const char* before : {"id='", "id=\"", "href='#", "href=\"#", "url(#"})
      replace_all(svg, std::string(before) + name, before + prefix + name);
  return svg;
}

}  // namespace carom
