"""What MkDocs does besides: equations become MathML, which browsers draw by themselves, so that the site needs no script for them."""

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
    return INLINE.sub(lambda m: f"<span>{convert(m[1])}</span>", text) # a line that begins with <math> would be a paragraph of its own


def on_post_page(output, page, **_):
    """The script that the offline plugin would load from elsewhere is the site's own."""
    depth = page.url.count("/")
    return output.replace("https://unpkg.com/iframe-worker/shim", "../" * depth + "worker.js")


def on_post_template(output_content, **_):
    return output_content.replace("https://unpkg.com/iframe-worker/shim", "worker.js")
