"""Turns equations into MathML, which browsers draw by themselves, so that the site needs no script for them."""

import re

from latex2mathml.converter import convert

BLOCK = re.compile(r"^\$\$\n(.*?)\n\$\$$", re.S | re.M)
INLINE = re.compile(r"(?<![\\$\w`])\$([^\s$`](?:[^$`\n]*[^\s$`])?)\$(?![\w$])")
CODE = re.compile(r"^(```.*?^```|<pre.*?</pre>)|(`[^`\n]*`)", re.S | re.M)


def on_page_markdown(markdown, page, **_):
    if not page.file.src_uri.startswith("docs/"):
        return markdown
    parts, at = [], 0
    for code in CODE.finditer(markdown):
        parts += [equations(markdown[at:code.start()]), code[0]]
        at = code.end()
    return "".join(parts + [equations(markdown[at:])])


def equations(text):
    text = BLOCK.sub(lambda m: f'<div class="equation">{convert(m[1].strip(), display="block")}</div>', text)
    return INLINE.sub(lambda m: convert(m[1]), text)
