// Package manual takes a command's manual out of its package comment, so that "go doc" and the
// command's own help are one text.
package manual

import (
	"errors"
	"fmt"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"strings"
)

// A Manual is a package comment, cut at its headings. The text before the first heading is the
// overview. Each heading begins a topic, whose name for "leakgate help" is the heading in lower
// case with hyphens.
type Manual struct {
	overview *comment.Doc
	topics   []topic
}

type topic struct {
	name string
	doc  *comment.Doc
}

// Parse reads the package comment of a Go source file.
func Parse(source string) (*Manual, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", source, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("reading the package comment: %w", err)
	}
	if file.Doc == nil {
		return nil, errors.New("reading the package comment: there is none")
	}
	doc := new(comment.Parser).Parse(file.Doc.Text())
	m := &Manual{overview: new(comment.Doc)}
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
func (m *Manual) Overview() string { return text(m.overview) }

// Topics are the names of the topics, in the manual's order.
func (m *Manual) Topics() []string {
	names := make([]string, len(m.topics))
	for i, t := range m.topics {
		names[i] = t.name
	}
	return names
}

// Topic is the text of one topic, with its heading.
func (m *Manual) Topic(name string) (string, bool) {
	for _, t := range m.topics {
		if t.name == name {
			return text(t.doc), true
		}
	}
	return "", false
}

func text(doc *comment.Doc) string { return string(new(comment.Printer).Text(doc)) }

// Code returns the lines of all indented blocks of the manual, without their indentation.
func (m *Manual) Code() []string {
	var lines []string
	docs := []*comment.Doc{m.overview}
	for _, t := range m.topics {
		docs = append(docs, t.doc)
	}
	for _, doc := range docs {
		for _, block := range doc.Content {
			if code, ok := block.(*comment.Code); ok {
				lines = append(lines, strings.Split(strings.TrimSuffix(code.Text, "\n"), "\n")...)
			}
		}
	}
	return lines
}
