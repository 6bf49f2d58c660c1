package debuginfo

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// findDeclaration returns the file and line that declare a package variable, "" and 0 if none does.
// files are the compiler's names of the files that functions of the package come from; find returns
// the path of a file whose name is not absolute. Declaration reads the package's files until one
// declares the variable, at worst all of them.
func findDeclaration(variable string, files []string, find func(string) string) (file string, line int) {
	// Files with functions in the program were compiled for certain; others may be for another
	// system.
	var candidates, others []string
	folders := make(map[string]bool)
	for _, f := range files {
		if !filepath.IsAbs(f) && !strings.HasPrefix(f, "/") { // "/": also on Windows, if built elsewhere
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

// filesIn returns the names in a folder, unsorted; none if the folder cannot be read.
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
// only tracks the nesting of brackets: each "var" outside of brackets declares package variables.
// go/parser would do the same, but adds 190 kB to a test binary.
func variableLine(src []byte, name string) int {
	if name == "_" {
		return 0
	}
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile("", -1, len(src)), src, nil, 0)
	depth, group := 0, false // depth of brackets; whether the outermost is that of "var ("
	// whether the token is among the names of a declaration: from "var" or a new line of a group up
	// to the first token that is neither name nor comma
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
