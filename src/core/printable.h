/* printable - makes text from outside, such as names of files and labels, safe for terminals and
 * one-line messages. */
#ifndef SSM2D_CORE_PRINTABLE_H
#define SSM2D_CORE_PRINTABLE_H

/* Returns the length in bytes of the control character at text: below a space, DEL, or U+0080 to
 * U+009F in UTF-8; 0 if it is another character, or not UTF-8. */
static inline int control_length(const char *text)
{
    const unsigned char c = (unsigned char)text[0];
    if (c && (c < 0x20 || c == 0x7f)) return 1;
    return c == 0xc2 && ((unsigned char)text[1] & 0xe0) == 0x80 ? 2 : 0;
}

/* Replaces every byte of a control character by '?', and returns text. */
static inline char *printable(char *text)
{
    for (char *at = text; *at;) {
        int n = control_length(at);
        if (!n) at++;
        while (n-- > 0) *at++ = '?';
    }
    return text;
}

#endif
