// Package gosource finds where the source of a program declares its package variables.
package gosource

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// Declaration returns the file and line that declare a package variable, "" and 0 if none does.
// Files are those that functions of the package come from, as the compiler calls them, and find
// returns the path of one whose name is not absolute. It reads files of the package, up to all of
// them.
func Declaration(variable string, files []string, find func(string) string) (file string, line int) {
	// Files with functions in the program were compiled for certain; others may be for another
	// system.
	var candidates, others []string
	folders := make(map[string]bool)
	for _, f := range files {
		if !filepath.IsAbs(f) && !strings.HasPrefix(f, "/") { // on Windows, of a program built elsewhere
			f = find(f)
		}
		if f == "" || slices.Contains(candidates, f) {
			continue
		}
		candidates = append(candidates, f)
		folders[filepath.Dir(f)] = true
	}
	for dir := range folders {
		for _, name := range filesIn(dir) {
			if strings.HasSuffix(name, ".go") {
				others = append(others, filepath.Join(dir, name))
			}
		}
	}
	sort.Strings(others)
	seen := make(map[string]bool)
	for _, f := range append(candidates, others...) {
		if seen[f] {
			continue
		}
		seen[f] = true
		src, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		if line := variableLine(src, variable); line > 0 {
			return f, line
		}
	}
	return "", 0
}

// filesIn lists a folder in any order; what cannot be listed is empty.
func filesIn(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	return names
}

// variableLine returns the line of Go source that declares a package variable, 0 if none does. It
// follows brackets alone: each "var" outside of them declares package variables. go/parser would do
// the same, and adds 190 kB to a test binary.
func variableLine(src []byte, name string) int {
	if name == "_" {
		return 0
	}
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile("", -1, len(src)), src, nil, 0)
	depth, group := 0, false // of brackets; whether those of "var (" are the outermost
	// where names of a declaration stand: from "var" or a new line of a group up to what is neither
	// name nor comma
	inNames := false
	for last := token.SEMICOLON; ; {
		pos, tok, text := s.Scan()
		switch tok {
		case token.EOF:
			return 0
		case token.VAR:
			inNames = depth == 0
		case token.IDENT:
			if inNames && last != token.IDENT && text == name {
				return files.PositionFor(pos, false).Line
			}
			inNames = inNames && last != token.IDENT // the second of two in a row is a type
		case token.COMMA:
		case token.SEMICOLON:
			inNames = group && depth == 1
		case token.LPAREN, token.LBRACK, token.LBRACE:
			group = group || tok == token.LPAREN && last == token.VAR && depth == 0
			inNames = group && depth == 0
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth = max(depth-1, 0)
			group = group && depth > 0
			inNames = false
		default:
			inNames = false
		}
		last = tok
	}
}
