package present

import (
	"strings"
	"unicode"
)

// Names and output of tests and programs go into Markdown through these functions alone. They make
// names, text and blocks that cannot end the element that they are part of.

// markdownText escapes the markup of CommonMark and of GitHub in text, and tags. A name after @
// notifies nobody.
func markdownText(text string) string {
	var b strings.Builder
	for _, c := range Printable(text) {
		switch {
		case c == '<':
			b.WriteString("&lt;")
		case c == '>':
			b.WriteString("&gt;")
		case c == '&':
			b.WriteString("&amp;")
		case c == '@':
			b.WriteString("@\u200b")
		case strings.ContainsRune("\\`*_[|~#!$", c):
			b.WriteByte('\\')
			b.WriteRune(c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// markdownName makes a name code within a line: its fence is longer than any run of backquotes in
// it.
func markdownName(name string) string {
	name = Printable(name)
	fence := fenceAround(name, 1)
	if strings.HasPrefix(name, "`") || strings.HasSuffix(name, "`") {
		name = " " + name + " " // which CommonMark takes off again
	}
	return fence + name + fence
}

// markdownCode makes a block of text as it is: its fence is longer than any run of backquotes in
// it.
func markdownCode(text string) string {
	text = strings.TrimRight(text, "\n")
	if len(text) > maxMarkdownMessage {
		text = strings.ToValidUTF8(text[:maxMarkdownMessage], "") + "\n..."
	}
	text = printable(text)
	fence := fenceAround(text, 3)
	return fence + "text\n" + text + "\n" + fence
}

// fenceAround returns a row of backquotes, at least so many, that is longer than any in the text.
func fenceAround(text string, least int) string {
	fence := strings.Repeat("`", least)
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}

// Printable makes text printable on one line: line ends and control characters become spaces.
func Printable(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == '\u2028' || c == '\u2029' {
			return ' '
		}
		return c
	}, printable(text))
}
