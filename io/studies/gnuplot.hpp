// Pictures by gnuplot: panels above each other with one horizontal axis, curves or points, and a legend beside each
// panel.
//
// A picture NAME.svg, NAME.pdf or NAME.png gets two companions: NAME.svg.gp, the script, and NAME.svg.dat, the numbers.
// `gnuplot NAME.svg.gp` in that folder draws the picture again, so that an author can change it there. Text reaches the
// script in single quotes, in which gnuplot knows no escapes, commands and macros (a quote becomes an apostrophe); the
// script names its files with "./" in front, so that no name can be read as a pipe.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/errors.hpp"

namespace carom {

struct Figure {
  /// How a curve is drawn; a guide is a broken grey line, a background a wide grey one.
  enum class Style { line, points, line_and_points, guide, background };
  struct Curve {
    std::string name;          ///< for the legend
    std::vector<double> x, y;  ///< a value that is not finite interrupts the line
    Style style = Style::line;
  };
  using Range = std::optional<std::pair<double, double>>;
  struct Panel {
    std::string label;  ///< of the vertical axis
    std::vector<Curve> curves;
    /// Names of the heights 0, 1, 2 ... of a vertical axis without numbers; empty: the axis has numbers.
    std::vector<std::string> rows;
    bool logarithmic = false;  ///< the vertical axis
    Range range;               ///< of the vertical axis; empty: that of all points
    bool tall = false;         ///< for a picture of few panels
  };
  std::string title, subtitle, x_label;
  bool logarithmic = false;  ///< the horizontal axis
  Range range;               ///< of the horizontal axis; empty: that of all points
  /// Names of the places 0, 1, 2 ... of a horizontal axis without numbers; empty: the axis has numbers.
  std::vector<std::string> places;
  std::vector<Panel> panels;
};

/// Gnuplot is missing, or did not draw. Script and data are written all the same.
struct PictureError : FileError {
  using FileError::FileError;
};

/// The endings of pictures: ".svg", ".pdf", ".png".
const std::vector<std::string>& picture_endings();

/// The names of the script and of the data beside a picture.
std::filesystem::path script_beside(const std::filesystem::path& picture);
std::filesystem::path data_beside(const std::filesystem::path& picture);

/// True if a point of the curve can be drawn on these axes: it is finite, and positive on a logarithmic axis.
bool can_be_drawn(const Figure::Curve& curve, bool logarithmic_x, bool logarithmic_y);

/// Writes script and data and lets gnuplot draw the picture. Curves of very many points are drawn by the extremes of
/// short spans. A panel without points has empty axes. Throws FileError if a file cannot be written, and PictureError
/// if gnuplot is missing or fails. Precondition: the ending is one of picture_endings(), and the name has no control
/// character.
void draw(const Figure& figure, const std::filesystem::path& picture);

/// The picture as an element <svg> for a page; `prefix` makes its identifiers differ from those of other pictures.
std::string inline_svg(const Figure& figure, const std::string& prefix);

/// The text without control characters and marks of direction; bytes that are no UTF-8 become U+FFFD; at most `longest`
/// characters.
std::string drawn_text(const std::string& text, std::size_t longest = 200);

}  // namespace carom
