package main

import (
	"fmt"
	goversion "go/version"
	"os"
	"runtime"
	"strings"

	"github.com/leakgate/leakgate/internal/wholefile"
)

// The document, in the checkout, has the tables of each Go release between two marker lines; the
// rest is written by hand.
const (
	documentName = "doc/performance.md"
	sectionEnd   = "<!-- end -->\n"
)

// sectionStart is the line before the tables of a Go version.
func sectionStart(version string) string {
	return "<!-- performance: " + goversion.Lang(version) + " -->\n"
}

// replaceSection replaces the tables of a Go version in a document.
func replaceSection(document, version, tables string) (string, error) {
	start := sectionStart(version)
	before, rest, found := strings.Cut(document, start)
	if !found {
		return "", fmt.Errorf("%s has no line %q, behind which the tables go", documentName, strings.TrimSpace(start))
	}
	_, after, found := strings.Cut(rest, sectionEnd)
	if !found {
		return "", fmt.Errorf("%s has no line %q behind the tables", documentName, strings.TrimSpace(sectionEnd))
	}
	return before + start + tables + sectionEnd + after, nil
}

func writeTables(tables string) error {
	data, err := os.ReadFile(documentName)
	if err != nil {
		return err
	}
	document, err := replaceSection(string(data), runtime.Version(), tables)
	if err != nil {
		return err
	}
	return wholefile.WriteData(documentName, 0o666, []byte(document))
}
