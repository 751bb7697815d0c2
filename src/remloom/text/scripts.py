"""Scripts that write words without blanks between them, as ranges for a character class.

>>> import re
>>> re.findall(f"[{CJK}]", "Tokyo 東京 서울")
['東', '京', '서', '울']
"""

_KANA = "\u3040-\u30ff"
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff"
_HANGUL = "\uac00-\ud7af"
_COMPATIBILITY = "\uf900-\ufaff"  # ideographs of other character sets, for their sake alone
_RARE = "\U00020000-\U0003ffff"  # ideographs beyond the first plane

# Indexes know runs of these by their pairs of characters. Changing it would change stored indexes.
CJK = _KANA + _IDEOGRAPHS + _HANGUL + _COMPATIBILITY + _RARE

# Each character of these counts as a word, and sentences end at marks without blanks. Korean has
# blanks; rare ideographs are left out since stored chunks were cut without them.
UNSPACED = _KANA + _IDEOGRAPHS + _COMPATIBILITY
