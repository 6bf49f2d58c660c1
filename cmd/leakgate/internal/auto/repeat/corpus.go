package repeat

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// entry is package testing's type of a seed (go1.26 testing/fuzz.go, corpusEntry).
type entry = struct {
	Parent     string
	Path       string
	Data       []byte
	Values     []any
	Generation int
	IsSeed     bool
}

// readCorpus reads the seeds in a folder below testdata/fuzz, as go test does (go1.26
// internal/fuzz/fuzz.go, ReadCorpus). The folder need not exist.
func readCorpus(dir string, types []reflect.Type) ([]entry, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var corpus []entry
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		name := filepath.Join(dir, f.Name())
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		values, err := decode(string(data))
		if err == nil {
			err = checkSeed(values, types)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		corpus = append(corpus, entry{Path: name, Values: values})
	}
	return corpus, nil
}

// checkSeed returns an error if values do not have the types of a fuzz target's parameters.
func checkSeed(values []any, types []reflect.Type) error {
	if len(values) != len(types) {
		return fmt.Errorf("a seed has %d values, and the fuzz target takes %d", len(values), len(types))
	}
	for i, v := range values {
		if reflect.TypeOf(v) != types[i] {
			return fmt.Errorf("a seed has a value of type %T, and the fuzz target takes a %v", v, types[i])
		}
	}
	return nil
}

// heading is the first line of a seed's file.
const heading = "go test fuzz v1"

// decode returns the values in a seed's file, one per line, as in
//
//	go test fuzz v1
//	[]byte("text")
//	int64(-5)
func decode(text string) ([]any, error) {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSuffix(first, "\r") != heading {
		return nil, fmt.Errorf("its first line is %q, and not %q", first, heading)
	}
	var values []any
	for line := range strings.Lines(rest) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		v, err := value(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		values = append(values, v)
	}
	return values, nil
}

// bits are the sizes of integer types.
var bits = map[string]int{
	"int": 64, "int8": 8, "int16": 16, "int32": 32, "int64": 64, "rune": 32,
	"uint": 64, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64, "byte": 8,
}

// value returns the value of a conversion such as "int64(-5)".
func value(line string) (any, error) {
	typ, arg, ok := strings.Cut(strings.TrimSuffix(line, ")"), "(")
	if !ok || !strings.HasSuffix(line, ")") {
		return nil, errors.New("this is no conversion")
	}
	typ, arg = strings.TrimSpace(typ), strings.TrimSpace(arg)
	switch typ {
	case "string", "[]byte":
		text, err := strconv.Unquote(arg)
		if typ == "string" {
			return text, err
		}
		return []byte(text), err
	case "bool":
		if arg != "true" && arg != "false" {
			return nil, errors.New("this is no bool")
		}
		return arg == "true", nil
	case "float32":
		f, err := strconv.ParseFloat(arg, 32)
		return float32(f), err
	case "float64":
		return strconv.ParseFloat(arg, 64)
	case "math.Float32frombits":
		n, err := strconv.ParseUint(arg, 0, 32)
		return math.Float32frombits(uint32(n)), err
	case "math.Float64frombits":
		n, err := strconv.ParseUint(arg, 0, 64)
		return math.Float64frombits(n), err
	}
	if bits[typ] == 0 {
		return nil, fmt.Errorf("no seed has a %s", typ)
	}
	return integer(typ, arg)
}

// integer returns a value of an integer type, written as a number or as a character.
func integer(typ, arg string) (any, error) {
	if quoted, ok := strings.CutPrefix(arg, "'"); ok {
		r, _, rest, err := strconv.UnquoteChar(quoted, '\'')
		if err == nil && rest != "'" {
			err = errors.New("this is no character")
		}
		if err != nil {
			return nil, err
		}
		arg = strconv.Itoa(int(r))
	}
	if strings.HasPrefix(typ, "u") || typ == "byte" {
		n, err := strconv.ParseUint(arg, 0, bits[typ])
		switch typ {
		case "uint":
			return uint(n), err
		case "uint8", "byte":
			return uint8(n), err
		case "uint16":
			return uint16(n), err
		case "uint32":
			return uint32(n), err
		}
		return n, err
	}
	n, err := strconv.ParseInt(arg, 0, bits[typ])
	switch typ {
	case "int":
		return int(n), err
	case "int8":
		return int8(n), err
	case "int16":
		return int16(n), err
	case "int32", "rune":
		return int32(n), err
	}
	return n, err
}
