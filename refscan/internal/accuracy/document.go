package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/leakgate/leakgate/internal/wholefile"
)

// documentName is the record of the audits, in the checkout. Its sections between a line "<!--
// accuracy: NAME -->" and a line "<!-- end -->" are written by this command, the rest by hand.
const documentName = "doc/accuracy.md"

const sectionEnd = "<!-- end -->"

func sectionStart(name string) string { return "<!-- accuracy: " + name + " -->" }

// section returns the lines of a section of the document, without the marks.
func section(document, name string) (string, error) {
	start, end, err := findSection(document, name)
	if err != nil {
		return "", err
	}
	return document[start:end], nil
}

func findSection(document, name string) (start, end int, err error) {
	mark := sectionStart(name) + "\n"
	start = strings.Index(document, mark)
	if start < 0 {
		return 0, 0, fmt.Errorf("%s has no section %q; it starts with the line %s", documentName, name, sectionStart(name))
	}
	start += len(mark)
	length := strings.Index(document[start:], sectionEnd)
	if length < 0 {
		return 0, 0, fmt.Errorf("%s: the section %q does not end; its end is the line %s", documentName, name, sectionEnd)
	}
	return start, start + length, nil
}

// writeSection replaces a section of the document in a checkout.
func writeSection(checkout, name, text string) error {
	file := filepath.Join(checkout, filepath.FromSlash(documentName))
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	document := string(data)
	start, end, err := findSection(document, name)
	if err != nil {
		return err
	}
	return wholefile.WriteData(file, 0o666, []byte(document[:start]+text+document[end:]))
}

// readSection reads a section of the document in a checkout.
func readSection(checkout, name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(checkout, filepath.FromSlash(documentName)))
	if err != nil {
		return "", err
	}
	return section(string(data), name)
}

// tableRows returns the cells of a Markdown table's rows, by the first one; the head and its rule
// are left out.
func tableRows(table string) map[string][]string {
	rows := make(map[string][]string)
	seen := 0
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			continue
		}
		if seen++; seen <= 2 {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows[cells[0]] = cells[1:]
	}
	return rows
}
