package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/leakgate/leakgate/internal/wholefile"
)

// A document is one of the checkout: doc/NAME.md. Its sections between a line "<!-- NAME: SECTION
// -->" and a line "<!-- end -->" are written by this command, the rest by hand.
type document string

const (
	accuracy    document = "accuracy"
	performance document = "performance"
)

const sectionEnd = "<!-- end -->"

func (d document) file() string { return "doc/" + string(d) + ".md" }

// find returns where a section begins and ends in the text of the document, without the marks.
func (d document) find(text, section string) (start, end int, err error) {
	mark := "<!-- " + string(d) + ": " + section + " -->"
	start = strings.Index(text, mark+"\n")
	if start < 0 {
		return 0, 0, fmt.Errorf("%s has no section %q; it starts with the line %s", d.file(), section, mark)
	}
	start += len(mark) + 1
	length := strings.Index(text[start:], sectionEnd)
	if length < 0 {
		return 0, 0, fmt.Errorf("%s: the section %q does not end; its end is the line %s", d.file(), section, sectionEnd)
	}
	return start, start + length, nil
}

// write replaces a section of the document in a checkout.
func (d document) write(checkout, section, text string) error {
	file := filepath.Join(checkout, filepath.FromSlash(d.file()))
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	start, end, err := d.find(string(data), section)
	if err != nil {
		return err
	}
	return wholefile.WriteData(file, 0o666, []byte(string(data[:start])+text+string(data[end:])))
}

// read reads a section of the document in a checkout.
func (d document) read(checkout, section string) (string, error) {
	data, err := os.ReadFile(filepath.Join(checkout, filepath.FromSlash(d.file())))
	if err != nil {
		return "", err
	}
	start, end, err := d.find(string(data), section)
	if err != nil {
		return "", err
	}
	return string(data[start:end]), nil
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
