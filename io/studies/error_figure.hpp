// Pictures of `carom converge` and `carom compare`: errors over what varies, on logarithmic axes, with broken lines of
// whole orders below the curves.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/studies/gnuplot.hpp"

namespace carom {

struct ErrorCurve {
  std::string name;
  std::vector<double> x, y;
  std::optional<double> order;  ///< positive if errors fall in finer runs
};

/// One panel. The nearest whole order from 1 to 8 of every curve has a line; rises: errors grow with x, as over the
/// step. words: x numbers places without order, and there are no lines.
Figure::Panel error_panel(std::string label, const std::vector<ErrorCurve>& curves, bool rises, bool words = false);

/// The horizontal axis over the points of all panels, with margins and of one decade at least; the same for the
/// vertical axes.
void set_decades(Figure& figure);

/// Draws the picture. Without gnuplot, or if it fails, the reason is added to `notes`. Throws FileError if a file
/// cannot be written.
void draw_for_study(const Figure& figure, const std::filesystem::path& picture, std::vector<std::string>& notes);

/// The names of pictures with those of their scripts and data.
std::vector<std::string> with_companions(const std::vector<std::string>& pictures);

}  // namespace carom
