package main

import (
	"errors"
	"fmt"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"strings"
)

// A manual is a package comment, so that "go doc" and the command's own help are one text. It is
// cut at its headings. The text before the first heading is the overview. Each heading begins a
// topic, whose name for "leakgate help" is the heading in lower case with hyphens.
type manual struct {
	overview *comment.Doc
	topics   []topic
}

type topic struct {
	name string
	doc  *comment.Doc
}

// readManual reads the package comment of a Go source file.
func readManual(source string) (*manual, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", source, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("reading the package comment: %w", err)
	}
	if file.Doc == nil {
		return nil, errors.New("reading the package comment: there is none")
	}
	doc := new(comment.Parser).Parse(file.Doc.Text())
	m := &manual{overview: new(comment.Doc)}
	part := m.overview
	for _, block := range doc.Content {
		if h, ok := block.(*comment.Heading); ok {
			part = new(comment.Doc)
			m.topics = append(m.topics, topic{topicName(h), part})
		}
		part.Content = append(part.Content, block)
	}
	return m, nil
}

func topicName(h *comment.Heading) string {
	var b strings.Builder
	for _, t := range h.Text {
		if p, ok := t.(comment.Plain); ok {
			b.WriteString(string(p))
		}
	}
	return strings.ReplaceAll(strings.ToLower(b.String()), " ", "-")
}

// Overview is what the manual says before its first heading.
func (m *manual) Overview() string { return manualText(m.overview) }

// Topics are the names of the topics, in the manual's order.
func (m *manual) Topics() []string {
	names := make([]string, len(m.topics))
	for i, t := range m.topics {
		names[i] = t.name
	}
	return names
}

// Topic is the text of one topic, with its heading.
func (m *manual) Topic(name string) (string, bool) {
	for _, t := range m.topics {
		if t.name == name {
			return manualText(t.doc), true
		}
	}
	return "", false
}

func manualText(doc *comment.Doc) string { return string(new(comment.Printer).Text(doc)) }
