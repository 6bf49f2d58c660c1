package golden

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// docBlocks returns the indented blocks of the package comment.
func docBlocks(t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	inside := false
	for line := range strings.Lines(strings.ReplaceAll(string(source), "\r\n", "\n")) {
		switch {
		case strings.HasPrefix(line, "//\t"):
			if !inside {
				blocks = append(blocks, "")
			}
			inside = true
			blocks[len(blocks)-1] += line[len("//\t"):]
		case inside && line == "//\n":
			blocks[len(blocks)-1] += "\n"
		default:
			inside = false
		}
	}
	for i, b := range blocks {
		blocks[i] = strings.TrimRight(b, "\n") + "\n"
	}
	return blocks
}

// docBlock returns the block that begins with prefix.
func docBlock(t *testing.T, prefix string) string {
	t.Helper()
	for _, b := range docBlocks(t) {
		if strings.HasPrefix(b, prefix) {
			return b
		}
	}
	t.Fatalf("doc.go has no block that begins with %q", prefix)
	return ""
}

// The file in the documentation is a golden file in canonical form.
func TestDocumentedFile(t *testing.T) {
	text := docBlock(t, "leakgate golden")
	f := mustParse(t, text)
	if got := string(f.Bytes()); got != text {
		t.Errorf("the documented file is not in canonical form:\n%s", Diff(text, got))
	}
	forms := make(map[form]bool)
	for _, e := range f.Entries() {
		forms[e.Objects.form], forms[e.Bytes.form] = true, true
	}
	if len(forms) != 4 {
		t.Errorf("the documented file shows %d of 4 forms of bounds", len(forms))
	}
}

// The bounds in the documentation mean what it says.
func TestDocumentedBounds(t *testing.T) {
	want := []Bound{Exactly(12), AtMost(100), Within(4096, 10), Any()}
	lines := splitLines(docBlock(t, "12  "))
	if len(lines) != len(want) {
		t.Fatalf("%d bounds are documented, want %d", len(lines), len(want))
	}
	for i, line := range lines {
		text := strings.Fields(line)[0]
		if b, err := parseBound(text, "objects"); err != nil || b != want[i] {
			t.Errorf("%q is %v, %v", text, b, err)
		}
	}
}

// The grammar is whole: every name that it uses is defined in it, and every definition is used.
func TestDocumentedGrammar(t *testing.T) {
	grammar := docBlock(t, "File ")
	prose := regexp.MustCompile(`"[^"]*"|(any character|printable characters|an interpreted)[^.}]*`)
	defined, used := make(map[string]bool), map[string]bool{"File": true}
	for _, line := range splitLines(grammar) {
		name, expression, ok := strings.Cut(line, "=")
		if !ok || !strings.HasSuffix(line, " .") {
			t.Errorf("not a production: %q", line)
			continue
		}
		defined[strings.TrimSpace(name)] = true
		for _, word := range regexp.MustCompile(`[A-Za-z]+`).FindAllString(prose.ReplaceAllString(expression, ""), -1) {
			used[word] = true
		}
	}
	for name := range used {
		if !defined[name] {
			t.Errorf("the grammar uses %q and does not define it", name)
		}
	}
	for name := range defined {
		if !used[name] {
			t.Errorf("the grammar defines %q and does not use it", name)
		}
	}
}
