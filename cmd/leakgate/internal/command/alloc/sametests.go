package alloc

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A testSet is what two folders have in their files *_test.go: the names of the tests, benchmarks,
// examples and fuzz tests that are the same in both, and of those that are in one alone or differ.
type testSet struct {
	same, different []string
	// onMain says that the main goroutine may run the module's code besides package testing: that
	// of examples, or of a TestMain (go1.26 testing/run_example.go).
	onMain bool
}

// compareTests compares the tests of two folders.
//
// A test is the same if all of these are: its source; the declarations in test files that it
// mentions by name, directly or through other declarations; TestMain, functions init and variables
// _; and, if any of these mentions testdata, the files in the folder testdata. Comments and
// formatting do not count. Other files that tests read, and packages of helpers, are not compared.
func compareTests(a, b string) (*testSet, error) {
	set := new(testSet)
	first, err := set.digests(a)
	if err != nil {
		return nil, err
	}
	second, err := set.digests(b)
	if err != nil {
		return nil, err
	}
	for name, digest := range first {
		if second[name] == digest {
			set.same = append(set.same, name)
		} else {
			set.different = append(set.different, name)
		}
	}
	for name := range second {
		if _, there := first[name]; !there {
			set.different = append(set.different, name)
		}
	}
	slices.Sort(set.same)
	slices.Sort(set.different)
	return set, nil
}

type digest [sha256.Size]byte

// declarations holds all declarations of one name in the test files. A method counts by its own
// name, whatever its type is.
type declarations struct {
	texts    []string
	mentions map[string]bool
}

// digests returns, by test, a digest of all that is compared of it.
func (set *testSet) digests(folder string) (map[string]digest, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return nil, err
	}
	all := make(map[string]*declarations)
	var tests []string
	for _, name := range names {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("a test file: %w", err)
		}
		for _, d := range file.Decls {
			if err := declare(all, files, d); err != nil {
				return nil, err
			}
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil {
				continue
			}
			name := f.Name.Name
			set.onMain = set.onMain || name == "TestMain" || isTest(name) && strings.HasPrefix(name, "Example")
			if isTest(name) {
				tests = append(tests, name)
			}
		}
	}
	data, err := testdata(filepath.Join(folder, "testdata"))
	if err != nil {
		return nil, err
	}
	of := make(map[string]digest, len(tests))
	for _, test := range tests {
		of[test] = digestOf(all, test, data)
	}
	return of, nil
}

// isTest reports whether package testing runs a function of that name by itself (go1.26
// cmd/go/internal/load/test.go, isTest).
func isTest(name string) bool {
	for _, prefix := range []string{"Test", "Benchmark", "Example", "Fuzz"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && name != "TestMain" {
			first, _ := utf8.DecodeRuneInString(rest)
			return rest == "" || !unicode.IsLower(first)
		}
	}
	return false
}

// declare adds a declaration to all, under each of its names.
func declare(all map[string]*declarations, files *token.FileSet, d ast.Decl) error {
	var names []string
	switch d := d.(type) {
	case *ast.FuncDecl:
		names = []string{d.Name.Name}
	case *ast.GenDecl:
		if d.Tok == token.IMPORT {
			return nil
		}
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	var text bytes.Buffer
	if err := (&printer.Config{Mode: printer.RawFormat}).Fprint(&text, files, d); err != nil {
		return err
	}
	mentions := make(map[string]bool)
	ast.Inspect(d, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			mentions[id.Name] = true
		}
		return true
	})
	for _, name := range names {
		known := all[name]
		if known == nil {
			known = &declarations{mentions: make(map[string]bool)}
			all[name] = known
		}
		// Blank lines are formatting.
		known.texts = append(known.texts, strings.Join(strings.Fields(text.String()), " "))
		for m := range mentions {
			known.mentions[m] = true
		}
	}
	return nil
}

// digestOf hashes a test and all that it mentions, directly or through other declarations.
func digestOf(all map[string]*declarations, test string, testdata []byte) digest {
	reached := make(map[string]bool)
	next := []string{test, "TestMain", "init", "_"}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if all[name] == nil || reached[name] {
			continue
		}
		reached[name] = true
		for m := range all[name].mentions {
			next = append(next, m)
		}
	}
	var names []string
	for name := range reached {
		names = append(names, name)
	}
	slices.Sort(names)
	hash := sha256.New()
	reads := false
	for _, name := range names {
		texts := slices.Sorted(slices.Values(all[name].texts))
		for _, text := range texts {
			reads = reads || strings.Contains(text, "testdata")
			fmt.Fprintf(hash, "%d:%s", len(text), text)
		}
	}
	if reads {
		hash.Write(testdata)
	}
	return digest(hash.Sum(nil))
}

// testdata hashes the names and contents of the files in a folder; nil if there is no folder.
func testdata(folder string) ([]byte, error) {
	hash := sha256.New()
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(hash, "%d:%s%d:", len(name), name, len(data))
		hash.Write(data)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return hash.Sum(nil), err
}
