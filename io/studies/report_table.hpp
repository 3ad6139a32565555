// A table of a report as text for a terminal, as Markdown and as LaTeX.
#pragma once

#include <string>
#include <vector>

namespace carom {

struct ReportTable {
  std::string caption;  ///< a line above the table
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;  ///< cells of text; as many as `head`, or fewer
  std::size_t left = 1;                        ///< number of first columns that are aligned to the left
};

/// Columns of the width of their cells, two blanks between them. A first cell longer than `longest` gets a line of its
/// own, above the rest of its row.
std::string text_of(const ReportTable& table, std::size_t longest = 30);
/// A table of GitHub's Markdown.
std::string markdown_of(const ReportTable& table);
/// A table environment with the rules of the package booktabs; numbers as 1.2e-3 become powers of ten.
std::string latex_of(const ReportTable& table);

/// Text in which nothing is markup.
std::string escaped_markdown(const std::string& text);
std::string escaped_latex(const std::string& text);

}  // namespace carom
