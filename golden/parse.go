package golden

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const byteOrderMark = "\ufeff"

// Parse reads a golden file; name is what errors call it. Text that is not a golden file gives a
// *SyntaxError, a format that this package does not know a *VersionError. Entries may stand in any
// order. Parse takes time and memory proportional to the text, which may not be longer than
// MaxSize.
func Parse(name string, data []byte) (*File, error) {
	fail := func(line, column int, format string, args ...any) (*File, error) {
		return nil, &SyntaxError{File: name, Line: line, Column: column, Msg: fmt.Sprintf(format, args...)}
	}
	if len(data) > MaxSize {
		return fail(1, 1, "file is too large: %d bytes, at most %d", len(data), MaxSize)
	}
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	if line, column, bad := invalidUTF8(data); bad {
		return fail(line, column, "expected UTF-8 text, found the byte %#02x: save the file as UTF-8", invalidByte(data))
	}

	lines := strings.Split(string(data), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	f := &File{name: name}
	seen := make(map[place]int)
	var above []string
	for i, text := range lines {
		s := &lineScanner{file: name, line: i + 1, text: strings.TrimSuffix(text, "\r")}
		if err := s.checkCharacters(); err != nil {
			return nil, err
		}
		s.skipSpace()
		switch {
		case i == 0:
			if err := f.parseHeader(s); err != nil {
				return nil, err
			}
		case s.atEnd():
			above = append(above, "")
		case s.rest()[0] == '#':
			above = append(above, strings.TrimRight(s.rest(), " \t"))
		default:
			e, err := s.entry()
			if err != nil {
				return nil, err
			}
			if first, dup := seen[e.place()]; dup {
				return fail(s.line, 1, "duplicate entry for %s %s, first on line %d: keep one of the two",
					quotePath(e.Path), quoteType(e.Type), first)
			}
			seen[e.place()] = s.line
			e.Line, e.Above = s.line, joinLines(above)
			above = nil
			f.addParsed(e)
		}
	}
	if len(lines) == 0 {
		return fail(1, 1, "expected the header %q, found an empty file", header())
	}
	f.tail = above
	f.arrange()
	return f, nil
}

// addParsed appends an entry. Comments above the first entry of the text that a blank line follows
// are the file's own, wherever that entry is sorted to.
func (f *File) addParsed(e Entry) {
	if len(f.entries) == 0 {
		shared, own := splitAbove(splitLines(e.Above))
		f.head, e.Above = shared, joinLines(own)
	}
	f.entries = append(f.entries, e)
}

func header() string { return headerWords + strconv.Itoa(Version) }

// parseHeader reads the first line.
func (f *File) parseHeader(s *lineScanner) error {
	start := s.pos
	text, comment := s.untilComment()
	f.headerComment = comment
	words := strings.Join(strings.Fields(text), " ")
	version, ok := strings.CutPrefix(words, headerWords)
	if !ok || !isDigits(version) {
		found := strconv.Quote(clip(text))
		if text == "" {
			found = "a line without it"
		}
		return s.errorAt(start, "expected the header %q, found %s", header(), found)
	}
	if n, err := strconv.Atoi(version); err != nil || n != Version {
		return &VersionError{File: f.name, Version: clip(version)}
	}
	return nil
}

// invalidUTF8 returns the line and column of the first byte that is not part of UTF-8 text.
func invalidUTF8(data []byte) (line, column int, found bool) {
	i := invalidOffset(data)
	if i < 0 {
		return 0, 0, false
	}
	line = 1 + bytes.Count(data[:i], []byte("\n"))
	return line, i - bytes.LastIndexByte(data[:i], '\n'), true
}

func invalidByte(data []byte) byte { return data[invalidOffset(data)] }

func invalidOffset(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
