"""What the scripts of the pages in this folder share: tables between two lines of a page, and pictures of curves."""


class Page:
    """A table stands between the lines "<!-- NAME -->" and "<!-- end -->" of the page."""

    def __init__(self, path):
        self.path = path

    def put(self, name, lines):
        """Replaces a table."""
        text = self.path.read_text()
        begin = text.index(f"<!-- {name} -->") + len(f"<!-- {name} -->")
        end = text.index("<!-- end -->", begin)
        self.path.write_text(text[:begin] + "\n" + "\n".join(lines) + "\n" + text[end:])
        print(f"\n{name}\n" + "\n".join(lines))

    def table(self, name, head, rows):
        self.put(name, [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in rows)])


def plot(target, panels, colors, label_width, height, kept, width=760):
    """Curves {label: [(x, y)]} per panel, below each other. kept(curve, x_range, y_range): the points that are drawn."""
    parts = []
    for k, (title, curves) in enumerate(panels):
        left, top, w, h = 60, 30 + k * (height + 20), width - 90, height - 60
        xs = [x for curve in curves.values() for x, _ in curve]
        ys = [y for curve in curves.values() for _, y in curve]
        x0, x1, y0, y1 = min(xs), max(xs), min(ys), max(ys)
        y0, y1 = y0 - 0.04 * (y1 - y0), y1 + 0.04 * (y1 - y0)
        parts.append(f"<text x='{left}' y='{top - 10}' font-weight='bold'>{title}</text>"
                     f"<rect x='{left}' y='{top}' width='{w}' height='{h}' fill='none' stroke='#888'/>")
        for i in range(5):
            x, y = x0 + i / 4 * (x1 - x0), y0 + i / 4 * (y1 - y0)
            px, py = left + i / 4 * w, top + h - i / 4 * h
            parts.append(f"<text x='{px:.0f}' y='{top + h + 16}' text-anchor='middle'>{x:.3g}</text>"
                         f"<text x='{left - 6}' y='{py + 4:.0f}' text-anchor='end'>{y:.3g}</text>")
        for i, (label, curve) in enumerate(curves.items()):
            points = " ".join(f"{left + (x - x0) / (x1 - x0) * w:.1f},{top + (y1 - y) / (y1 - y0) * h:.1f}"
                              for x, y in kept(curve, x1 - x0, y1 - y0))
            parts.append(f"<polyline points='{points}' fill='none' stroke='{colors[i]}' stroke-width='1.3'/>"
                         f"<text x='{left + label_width * i + 10}' y='{top + h + 32}' fill='{colors[i]}'>{label}</text>")
    total = len(panels) * (height + 20) + 10
    target.write_text(f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {total}' width='{width}' height='{total}' "
                      "font-family='DejaVu Sans, Helvetica, Arial, sans-serif' font-size='12' fill='#222'>\n"
                      f"<rect width='{width}' height='{total}' fill='white'/>\n" + "\n".join(parts) + "\n</svg>\n")
