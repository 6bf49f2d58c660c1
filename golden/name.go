package golden

import (
	"errors"
	"fmt"
	"hash/fnv"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Extension is how the names of golden files end.
const Extension = ".golden"

// Limits in bytes, so that a checkout in an ordinary folder stays below the 260 characters of
// Windows.
const (
	maxNameElement = 100 // one folder or file
	maxNameTotal   = 180
)

// FileName returns the slash-separated path of a test's golden file, relative to the folder for
// golden files. testName is what t.Name returns; the slashes of subtests become folders:
//
//	TestLogout                   TestLogout.golden
//	TestLogout/two_users#01      TestLogout/two_users#01.golden
//	TestLogout/a b: "c"          TestLogout/a_b%3A_%22c%22.golden
//
// White space becomes an underscore, as in t.Name. Letters and digits of ASCII and
// !#$&()+,-.=@[]^_{} stay, and every other byte is written as % and two hexadecimal digits: the
// names are good on every file system and in a module's zip file. Also escaped are a dot at the
// start or end of an element, the dot of an element that ends in ".golden" and is a folder, and the
// first letter of the names that Windows reserves, such as "con". An empty element is a lone %. A
// name that is longer than file systems allow is cut and ends in ~ and 16 digits, a hash of the
// whole; ~ is not used otherwise, so that callers may append "~2" before the extension to tell
// several files of one test apart.
//
// Distinct names give distinct files, but for white space, 64-bit hashes and case: names that
// differ in case alone give files that do, which Read and Write refuse. The only error is an empty
// name.
func FileName(testName string) (string, error) {
	if testName == "" {
		return "", errors.New("golden: file name: the test's name is empty")
	}
	testName = underscoreSpace(testName)
	elements := strings.Split(testName, "/")
	last := len(elements) - 1
	for i, e := range elements {
		elements[i] = shorten(escapeElement(e, i < last), e, maxNameElement-len(Extension))
	}
	name := strings.Join(elements, "/") + Extension
	if len(name) <= maxNameTotal {
		return name, nil
	}
	// Keep the test function's folder and the last element; the hash stands for the rest.
	const room = maxNameTotal - maxNameElement - 1 - len(Extension)
	return elements[0] + "/" + cut(elements[last], room-hashLen) + hashOf(testName) + Extension, nil
}

// underscoreSpace replaces white space as t.Run does in the names of subtests (Go 1.26,
// testing/match.go, rewrite).
func underscoreSpace(name string) string {
	var b strings.Builder
	for len(name) > 0 {
		r, size := utf8.DecodeRuneInString(name)
		if unicode.IsSpace(r) {
			b.WriteByte('_')
		} else {
			b.WriteString(name[:size])
		}
		name = name[size:]
	}
	return b.String()
}

// TestName returns the name of the test for which FileName returns the file name. It returns false
// if FileName does not return such a name, or had to cut it.
func TestName(fileName string) (string, bool) {
	base, ok := strings.CutSuffix(fileName, Extension)
	if !ok {
		return "", false
	}
	elements := strings.Split(base, "/")
	for i, e := range elements {
		if elements[i], ok = unescapeElement(e); !ok {
			return "", false
		}
	}
	name := strings.Join(elements, "/")
	again, err := FileName(name)
	return name, err == nil && again == path.Clean(fileName)
}

// plain lists the characters that stay as they are beside letters and digits: those that
// golang.org/x/mod/module allows in file names, without those that shells, URLs and this encoding
// treat specially.
const plain = "!#$&()+,-.=@[]^_{}"

func escapeElement(element string, folder bool) string {
	if element == "" {
		return "%"
	}
	escaped := func(i int) bool {
		c := element[i]
		switch {
		case c >= '0' && c <= '9':
			return false
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			return i == 0 && isReserved(element)
		case c == '.':
			return i == 0 || i == len(element)-1 ||
				folder && strings.ToLower(element[i:]) == Extension
		}
		return strings.IndexByte(plain, c) < 0
	}
	var b strings.Builder
	for i := range len(element) {
		if escaped(i) {
			fmt.Fprintf(&b, "%%%02X", element[i])
		} else {
			b.WriteByte(element[i])
		}
	}
	return b.String()
}

func unescapeElement(text string) (string, bool) {
	if text == "%" {
		return "", true
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			b.WriteByte(text[i])
			continue
		}
		if i+3 > len(text) {
			return "", false
		}
		c, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(c))
		i += 2
	}
	return b.String(), true
}

// isReserved reports whether Windows takes a name for a device, whatever follows its first dot.
func isReserved(element string) bool {
	stem, _, _ := strings.Cut(strings.ToLower(element), ".")
	switch stem {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	const port = len("com1")
	return len(stem) == port && stem[port-1] >= '0' && stem[port-1] <= '9' &&
		(stem[:port-1] == "com" || stem[:port-1] == "lpt")
}

// hashLen is the length of hashOf's result.
const hashLen = 1 + 16

// hashOf returns a 64-bit FNV-1a hash: short, and without the size of a cryptographic one.
func hashOf(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return fmt.Sprintf("~%016x", h.Sum64())
}

// shorten cuts an escaped element that is too long and appends the hash of the original.
func shorten(escaped, original string, limit int) string {
	if len(escaped) <= limit {
		return escaped
	}
	return cut(escaped, limit-hashLen) + hashOf(original)
}

// cut returns at most limit bytes of an escaped element. It does not cut an escape in two.
func cut(escaped string, limit int) string {
	if len(escaped) <= limit {
		return escaped
	}
	if i := strings.LastIndexByte(escaped[:limit], '%'); i > limit-3 {
		limit = i
	}
	return escaped[:limit]
}
