package main

import (
	"go/doc/comment"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	m, err := readManual(`// Tool does it.
//
//	tool run
//
// # Two Words
//
// About these.
//
//	tool two
//	tool words
package main
`)
	require.NoError(t, err)
	require.Equal(t, "Tool does it.\n\n\ttool run\n", m.Overview())
	require.Equal(t, []string{"two-words"}, m.Topics())
	text, ok := m.Topic("two-words")
	require.True(t, ok)
	require.Equal(t, "# Two Words\n\nAbout these.\n\n\ttool two\n\ttool words\n", text)
	_, ok = m.Topic("three")
	require.False(t, ok)
	require.Equal(t, []string{"tool run", "tool two", "tool words"}, m.Code())
}

func TestParseRefuses(t *testing.T) {
	_, err := readManual("package main\n")
	require.ErrorContains(t, err, "there is none")
	_, err = readManual("package")
	require.ErrorContains(t, err, "reading the package comment")
}

// Code returns the lines of all indented blocks of the manual, without their indentation.
func (m *manual) Code() []string {
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
