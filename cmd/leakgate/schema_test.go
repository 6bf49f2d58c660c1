package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

// schemaSource returns the JSON schema of leakgate.json.
func schemaSource(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../../doc/leakgate.schema.json")
	require.NoError(t, err)
	return string(text)
}

// compileSchema returns the schema, compiled by a library.
func compileSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schemaSource(t)))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("leakgate.schema.json", doc))
	schema, err := c.Compile("leakgate.schema.json")
	require.NoError(t, err)
	return schema
}

// validate checks a leakgate.json against the schema.
func validate(schema *jsonschema.Schema, data []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return schema.Validate(doc)
}

// schemaObject is the part of an object's schema that is compared with Go types.
type schemaObject struct {
	Required   []string
	Properties map[string]struct {
		Type  string
		Ref   string `json:"$ref"`
		Items struct {
			Ref string `json:"$ref"`
		}
	}
	Defs map[string]schemaObject `json:"$defs"`
}

// The schema has exactly the fields of the Go types, and says which fields are always there.
func TestSchemaHasTheFields(t *testing.T) {
	var root schemaObject
	require.NoError(t, json.Unmarshal([]byte(schemaSource(t)), &root))
	seen := make(map[string]bool)
	var compare func(name string, s schemaObject, typ reflect.Type)
	compare = func(name string, s schemaObject, typ reflect.Type) {
		if seen[name] {
			return
		}
		seen[name] = true
		var fields, required []string
		for _, f := range reflect.VisibleFields(typ) {
			if f.Anonymous {
				continue
			}
			field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields = append(fields, field)
			if options != "omitempty" {
				required = append(required, field)
			}
			p := s.Properties[field]
			inner := f.Type
			for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
				inner = inner.Elem()
			}
			if inner.Kind() != reflect.Struct {
				continue
			}
			ref := strings.TrimPrefix(p.Ref+p.Items.Ref, "#/$defs/")
			require.NotEmpty(t, ref, "%s.%s is an object in Go", name, field)
			require.NotEmpty(t, root.Defs[ref].Properties, "%s.%s: %s", name, field, ref)
			compare(ref, root.Defs[ref], inner)
		}
		require.ElementsMatch(t, fields, slices.Collect(maps.Keys(s.Properties)), "the properties of %s", name)
		require.ElementsMatch(t, required, s.Required, "what is required of %s", name)
	}
	compare("the run", root, reflect.TypeFor[outcome.Run]())
	require.Len(t, seen, len(root.Defs)+1, "definitions that nothing refers to")
}

func TestSchemaRefuses(t *testing.T) {
	schema := compileSchema(t)
	write := func(change func(*outcome.Run)) []byte {
		run := &outcome.Run{
			Schema: outcome.Schema, Command: []string{"leakgate", "run"}, Outcome: outcome.Regression, ExitCode: 1,
			Packages: []*outcome.Package{{ImportPath: "p", Status: outcome.StatusFail, Assertions: []*outcome.Assertion{{
				Result: verdict.Result{Schema: verdict.Schema, Package: "p", Test: "T", Seq: 1, Verdict: verdict.Fail},
			}}}},
		}
		change(run)
		data, err := json.Marshal(run)
		require.NoError(t, err)
		return data
	}
	require.NoError(t, validate(schema, write(func(*outcome.Run) {})))
	require.Error(t, validate(schema, write(func(r *outcome.Run) { r.Schema = 2 })))
	require.Error(t, validate(schema, write(func(r *outcome.Run) { r.Outcome = "odd" })))
	require.Error(t, validate(schema, write(func(r *outcome.Run) { r.Packages[0].Assertions[0].Verdict = "odd" })))
	require.Error(t, validate(schema, write(func(r *outcome.Run) {
		r.Packages[0].Assertions[0].Findings = []outcome.Finding{{Rule: outcome.RuleBound}}
	})))
}
