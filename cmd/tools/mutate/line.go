package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// line is a line of the product with what can be changed in it.
type line struct{ mutations []mutation }

// mutation replaces bytes of a file.
type mutation struct {
	file       string
	line       int
	begin, end int
	by, what   string
}

// other is what an operator becomes.
var other = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.ADD, token.QUO: token.MUL,
	token.LAND: token.LOR, token.LOR: token.LAND,
	token.INC: token.DEC, token.DEC: token.INC, token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
}

// inFile returns the lines of a file that can be changed, in their order.
func inFile(file string, source []byte) ([]line, error) {
	made := inPython(file, source)
	if strings.HasSuffix(file, ".go") {
		var err error
		if made, err = inGo(file, source); err != nil {
			return nil, err
		}
	}
	var lines []line
	at := make(map[int]int)
	for _, m := range made {
		m.line = 1 + bytes.Count(source[:m.begin], []byte("\n"))
		if m.what == "" {
			m.what = fmt.Sprintf("%s → %s", source[m.begin:m.end], m.by)
		}
		if at[m.line] == 0 {
			lines = append(lines, line{})
			at[m.line] = len(lines)
		}
		l := &lines[at[m.line]-1]
		l.mutations = append(l.mutations, m)
	}
	return lines, nil
}

// inGo returns the mutations of the functions of a file in Go.
func inGo(file string, source []byte) ([]mutation, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, 0)
	if err != nil {
		return nil, err
	}
	var made []mutation
	add := func(begin, end token.Pos, by, what string) {
		made = append(made, mutation{file: file, begin: set.Position(begin).Offset, end: set.Position(end).Offset, by: by, what: what})
	}
	operator := func(at token.Pos, of token.Token) {
		if by, ok := other[of]; ok {
			add(at, at+token.Pos(len(of.String())), by.String(), "")
		}
	}
	for _, declared := range parsed.Decls {
		function, ok := declared.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		ast.Inspect(function.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				operator(n.OpPos, n.Op)
			case *ast.IncDecStmt:
				operator(n.TokPos, n.Tok)
			case *ast.AssignStmt:
				operator(n.TokPos, n.Tok)
			case *ast.UnaryExpr:
				if n.Op == token.NOT {
					add(n.OpPos, n.OpPos+1, "", "without !")
				}
			case *ast.Ident:
				if n.Name == "true" || n.Name == "false" {
					add(n.Pos(), n.End(), strconv.FormatBool(n.Name == "false"), "")
				}
			case *ast.BasicLit:
				if n.Kind == token.INT {
					add(n.Pos(), n.End(), "("+n.Value+" + 1)", "")
				}
			case *ast.ExprStmt:
				add(n.Pos(), n.End(), "", "without the call")
			}
			return true
		})
	}
	return made, nil
}

// pythons are the words of Python that are exchanged, where no text and no comment is in the line.
var pythons = regexp.MustCompile(` (==|!=|<=|>=|<|>|\+|-|\*|and|or|is not|is|not in|in|\+=|-=) |\b(True|False)\b`)

var pythonOther = map[string]string{
	"==": "!=", "!=": "==", "<=": "<", ">=": ">", "<": "<=", ">": ">=", "+": "-", "-": "+", "*": "+", "and": "or", "or": "and",
	"is not": "is", "is": "is not", "not in": "in", "in": "not in", "+=": "-=", "-=": "+=", "True": "False", "False": "True",
}

// inPython returns the mutations of a file in Python.
func inPython(file string, source []byte) []mutation {
	var made []mutation
	at, text := 0, false
	for _, l := range bytes.SplitAfter(source, []byte("\n")) {
		quotes := bytes.Count(l, []byte(`"""`))
		if !text && quotes == 0 && !bytes.ContainsAny(l, `"'#`) && !bytes.Contains(l, []byte("for ")) && !bytes.Contains(l, []byte("import ")) {
			for _, found := range pythons.FindAllSubmatchIndex(l, -1) {
				begin, end := max(found[2], found[4]), max(found[3], found[5])
				made = append(made, mutation{file: file, begin: at + begin, end: at + end, by: pythonOther[string(l[begin:end])]})
			}
		}
		text = text != (quotes%2 == 1)
		at += len(l)
	}
	return made
}
