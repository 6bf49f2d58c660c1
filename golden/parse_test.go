package golden

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const v1 = "leakgate golden v1\n"

func mustParse(t testing.TB, text string) *File {
	t.Helper()
	f, err := Parse("app.golden", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return f
}

// testFiles returns the contents of the golden files in a folder of testdata, by name.
func testFiles(t testing.TB, folder string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", folder, "*"+Extension))
	if err != nil || len(names) == 0 {
		t.Fatalf("no test files in %s: %v", folder, err)
	}
	files := make(map[string]string)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = strings.ReplaceAll(string(data), "\r\n", "\n")
	}
	return files
}

func TestParseCanonical(t *testing.T) {
	for name, text := range testFiles(t, "canonical") {
		f := mustParse(t, text)
		if got := string(f.Bytes()); got != text {
			t.Errorf("%s changes:\n%s", name, Diff(text, got))
		}
		for variant, other := range map[string]string{
			"CRLF":            strings.ReplaceAll(text, "\n", "\r\n"),
			"byte order mark": byteOrderMark + text,
			"no line end":     strings.TrimSuffix(text, "\n"),
			"spaces at ends":  strings.ReplaceAll(text, "\n", " \t\n"),
		} {
			if got := string(mustParse(t, other).Bytes()); got != text {
				t.Errorf("%s with %s changes:\n%s", name, variant, Diff(text, got))
			}
		}
	}
}

func TestParseLoose(t *testing.T) {
	f := mustParse(t, testFiles(t, "loose")[filepath.Join("testdata", "loose", "byhand.golden")])
	const want = `leakgate golden v1  # by hand

# first

        3          2048  a                                                 string
# a's own
      <=7        <=1MiB  a.x                                               func(int) error
# second, indented
        1      4096~10%  b.x                                               map[string]int#not a comment  # a comment

        *             *  c.**                                              *

# last
`
	if got := string(f.Bytes()); got != want {
		t.Errorf("got\n%s\ndifference:\n%s", got, Diff(want, got))
	}
	var lines []int
	for _, e := range f.Entries() {
		lines = append(lines, e.Line)
	}
	if want := []int{11, 10, 8, 14}; !slices.Equal(lines, want) {
		t.Errorf("entries stand on lines %v, want %v", lines, want)
	}
}

func TestParseEntry(t *testing.T) {
	tests := []struct {
		line string
		want Entry
	}{
		{"1 2 p T", Entry{Exactly(1), Exactly(2), "p", "T", "", "", 2}},
		{"1 2 p *", Entry{Exactly(1), Exactly(2), "p", "*", "", "", 2}},
		{"1 2 p -", Entry{Exactly(1), Exactly(2), "p", "", "", "", 2}},
		{`1 2 p ""`, Entry{Exactly(1), Exactly(2), "p", "", "", "", 2}},
		{`1 2 p "-"`, Entry{Exactly(1), Exactly(2), "p", "-", "", "", 2}},
		{`1 2 "a b" "c  d" # e`, Entry{Exactly(1), Exactly(2), "a b", "c  d", "e", "", 2}},
		{`1 2 "a\tb\xff" chan<- int`, Entry{Exactly(1), Exactly(2), "a\tb\xff", "chan<- int", "", "", 2}},
		{`1 2 a"b T "x`, Entry{Exactly(1), Exactly(2), `a"b`, `T "x`, "", "", 2}},
		{"1 2 a#b T#c #d#e", Entry{Exactly(1), Exactly(2), "a#b", "T#c", "d#e", "", 2}},
		{"1 2 p T #", Entry{Exactly(1), Exactly(2), "p", "T", "", "", 2}},
		{"1 2 p interface  {\t}", Entry{Exactly(1), Exactly(2), "p", "interface { }", "", "", 2}},
		{"1 2 日本.世界 *日本.型", Entry{Exactly(1), Exactly(2), "日本.世界", "*日本.型", "", "", 2}},
	}
	for _, tt := range tests {
		f := mustParse(t, v1+tt.line+"\n")
		if got := f.Entries(); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s\n got %+v\nwant %+v", tt.line, got, tt.want)
		}
		again := mustParse(t, string(f.Bytes()))
		if got := again.Entries(); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s, written and read again\n got %+v\nwant %+v", tt.line, got, tt.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	const objects = "expected a bound on objects (a number, <=N, N~P% or *), found "
	tests := []struct{ text, want string }{
		{"", `1:1: expected the header "leakgate golden v1", found an empty file`},
		{byteOrderMark, `1:1: expected the header "leakgate golden v1", found an empty file`},
		{"\n" + v1, `1:1: expected the header "leakgate golden v1", found a line without it`},
		{"# c\n", `1:1: expected the header "leakgate golden v1", found a line without it`},
		{"1 2 p T\n", `1:1: expected the header "leakgate golden v1", found "1 2 p T"`},
		{"leakgate golden\n", `1:1: expected the header "leakgate golden v1", found "leakgate golden"`},
		{"leakgate golden v1.0\n", `1:1: expected the header "leakgate golden v1", found "leakgate golden v1.0"`},
		{"leakgate golden v1 x\n", `1:1: expected the header "leakgate golden v1", found "leakgate golden v1 x"`},
		{v1 + "\n1 abc p T\n", `3:3: expected a bound on bytes (a number, <=N, N~P% or *), found "abc"`},
		{v1 + "x", `2:1: ` + objects + `"x"`},
		{v1 + "  1 2 p", `2:8: expected a type (* for any type, - for an unknown one), found the end of the line`},
		{v1 + "1 2 p # T", `2:7: expected a type (* for any type, - for an unknown one), found a comment`},
		{v1 + "1 2", `2:4: expected a path, found the end of the line`},
		{v1 + "1 2 # p", `2:5: expected a path, found a comment`},
		{v1 + `1 2 "" T`, `2:5: expected a path, found an empty one`},
		{v1 + "1", `2:2: expected a bound on bytes (a number, <=N, N~P% or *), found the end of the line`},
		{v1 + "1 # 2", `2:3: expected a bound on bytes (a number, <=N, N~P% or *), found a comment`},
		{v1 + `1 2 "p T`, `2:5: expected a path in quotes, written as a Go string, found "\"p T"`},
		{v1 + `1 2 "p"T`, `2:8: expected a space after the quoted path, found "T"`},
		{v1 + `1 2 p "T" U`, `2:11: expected a comment or the end of the line after the quoted type, found "U"`},
		{v1 + `1 2 p "T"#c`, `2:10: expected a space after the quoted type, found "#c"`},
		{v1 + `1 2 p "\z"`, `2:7: expected a type in quotes, written as a Go string, found "\"\\z\""`},
		{v1 + "1 2 p\u200b T", `2:6: the path contains U+200B, which does not print: write it in quotes as \u200b`},
		{v1 + "1 2 p T\u00a0U", `2:8: the type contains U+00A0, which does not print: write it in quotes as \u00a0`},
		{v1 + "# a\x00", `2:4: unexpected control character U+0000`},
		{v1 + "1 2 p T\r3 4 q T\n", `2:8: unexpected control character U+000D`},
		{v1 + "# ok\n# \xff", `3:3: expected UTF-8 text, found the byte 0xff: save the file as UTF-8`},
		{"\xff\xfel\x00", `1:1: expected UTF-8 text, found the byte 0xff: save the file as UTF-8`},
		{v1 + "<<<<<<< HEAD\n", `2:1: unresolved merge conflict: keep the lines of one side, or delete the file, and update`},
		{v1 + "=======\n", `2:1: unresolved merge conflict: keep the lines of one side, or delete the file, and update`},
		{v1 + "1 2 p T\n\n3 4 \"p\" \"T\"\n", `4:1: duplicate entry for p T, first on line 2: keep one of the two`},
		{v1 + "99999999999999999999 2 p T\n", `2:1: bound on objects "99999999999999999999" is too large (at most 9223372036854775807)`},
		{v1 + strings.Repeat("x", 200), `2:1: ` + objects + `"` + strings.Repeat("x", 60) + `..."`},
		{strings.Repeat("\n", MaxSize+1), `1:1: file is too large: 8388609 bytes, at most 8388608`},
	}
	for _, tt := range tests {
		f, err := Parse("app.golden", []byte(tt.text))
		var syntax *SyntaxError
		switch {
		case err == nil:
			t.Errorf("%.40q: no error, entries %v", tt.text, f.Entries())
		case err.Error() != "app.golden:"+tt.want:
			t.Errorf("%.40q\n got %s\nwant app.golden:%s", tt.text, err, tt.want)
		case !errors.As(err, &syntax) || syntax.File != "app.golden":
			t.Errorf("%.40q: not a *SyntaxError of the file: %#v", tt.text, err)
		}
	}
}

func TestParseVersion(t *testing.T) {
	for _, version := range []string{"0", "2", "10", "99999999999999999999"} {
		// The lines after the header are of an unknown format, so they must not matter.
		_, err := Parse("app.golden", []byte("leakgate golden v"+version+"\n{}\n"))
		var unknown *VersionError
		if !errors.As(err, &unknown) || unknown.Version != version {
			t.Errorf("v%s: %v", version, err)
			continue
		}
		want := "app.golden:1: unknown golden format v" + version + ", this leakgate reads v1: " +
			"use the version of github.com/leakgate/leakgate that wrote the file, or delete the file and update"
		if err.Error() != want {
			t.Errorf("got %s\nwant %s", err, want)
		}
	}
}

// A change of one entry's figures changes one line.
func TestOneChangeOneLine(t *testing.T) {
	before := mustParse(t, testFiles(t, "canonical")[filepath.Join("testdata", "canonical", "sessions.golden")])
	ms := measurementsOf(before)
	ms[1].Objects, ms[1].Bytes = 123456789012, 9876543210987654
	after, _ := before.Update(ms)
	a, b := bytes.Split(before.Bytes(), []byte("\n")), bytes.Split(after.Bytes(), []byte("\n"))
	changed := 0
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			changed++
		}
	}
	if len(a) != len(b) || changed != 1 {
		t.Errorf("%d of %d lines changed:\n%s", changed, len(a), Diff(string(before.Bytes()), string(after.Bytes())))
	}
}
