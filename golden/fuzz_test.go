package golden

import (
	"errors"
	"strings"
	"testing"
)

// seed adds the files of testdata and the wrong texts of the error tables.
func seed(f *testing.F, add func(text string)) {
	for _, folder := range []string{"canonical", "loose"} {
		for _, text := range testFiles(f, folder) {
			add(text)
			add(strings.ReplaceAll(text, "\n", "\r\n"))
		}
	}
	for _, text := range []string{"", v1 + "1 2", v1 + `1 2 "a\tb" "c # d" # e`, "leakgate golden v2\n", v1 + "<=8388608TiB 1 p T"} {
		add(text)
	}
}

func FuzzParse(f *testing.F) {
	seed(f, func(text string) { f.Add([]byte(text)) })
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("fuzz", data)
		if err != nil {
			var syntax *SyntaxError
			var version *VersionError
			switch {
			case errors.As(err, &version):
			case !errors.As(err, &syntax):
				t.Fatalf("neither a *SyntaxError nor a *VersionError: %v", err)
			case syntax.Line < 1 || syntax.Line > 1+strings.Count(string(data), "\n"):
				t.Fatalf("an error on a line that is not there: %v", err)
			case syntax.Column < 1 || syntax.Column > 1+len(data):
				t.Fatalf("an error in a column that is not there: %v", err)
			}
			return
		}
		if err := checkFile(file); err != nil {
			t.Fatal(err)
		}
		if err := checkUpdate(file, measurementsOf(file)); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzUpdate takes the measurements from a second file.
func FuzzUpdate(f *testing.F) {
	var texts []string
	seed(f, func(text string) { texts = append(texts, text) })
	for _, a := range texts {
		for _, b := range texts {
			f.Add([]byte(a), []byte(b))
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		file, err := Parse("fuzz", a)
		if err != nil {
			return
		}
		other, err := Parse("fuzz", b)
		if err != nil {
			return
		}
		if err := checkUpdate(file, measurementsOf(other)); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzFileName(f *testing.F) {
	for _, name := range []string{"TestX", "TestX/a b", "TestX/../y", "TestX/con.txt", "TestX/a%3A", "TestX/\xff//.golden/x", "/"} {
		f.Add(name, name+"x")
		f.Add(name, strings.Repeat(name, 40))
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if a == "" || b == "" {
			return
		}
		if err := checkFileName(a); err != nil {
			t.Fatal(err)
		}
		if err := checkNamesDiffer(a, b); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzDiff(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nc\nb\n")
	f.Add("", "x")
	f.Add("\n\n1\n\n", "\n1\n\n\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		if err := checkDiff(diffLines(a), diffLines(b)); err != nil {
			t.Fatal(err)
		}
	})
}
