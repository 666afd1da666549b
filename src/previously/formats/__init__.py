"""Files in and out: what other programs write, as drafts, and messages as other programs take them."""

from previously.formats.detect import FORMATS, Reader, read_story
from previously.formats.openai import to_openai
from previously.formats.reading import Source
from previously.formats.sillytavern_fields import to_sillytavern

__all__ = ["FORMATS", "Reader", "Source", "read_story", "to_openai", "to_sillytavern"]
