package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/leakgate/leakgate/internal/wholefile"
)

// The document, in the checkout, has the tables between these lines; the rest is written by hand.
const (
	documentName = "doc/performance.md"
	sectionStart = "<!-- performance: the output of the command -->\n"
	sectionEnd   = "<!-- end -->\n"
)

// replaceSection puts the tables into a document.
func replaceSection(document, tables string) (string, error) {
	before, rest, found := strings.Cut(document, sectionStart)
	if !found {
		return "", fmt.Errorf("%s has no line %q, behind which the tables go", documentName, strings.TrimSpace(sectionStart))
	}
	_, after, found := strings.Cut(rest, sectionEnd)
	if !found {
		return "", fmt.Errorf("%s has no line %q behind the tables", documentName, strings.TrimSpace(sectionEnd))
	}
	return before + sectionStart + tables + sectionEnd + after, nil
}

func writeTables(tables string) error {
	data, err := os.ReadFile(documentName)
	if err != nil {
		return err
	}
	document, err := replaceSection(string(data), tables)
	if err != nil {
		return err
	}
	return wholefile.WriteData(documentName, 0o666, []byte(document))
}
