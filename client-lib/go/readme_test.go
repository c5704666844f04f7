package seqd

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// goCommand runs the go tool that runs this test, in a folder.
func goCommand(t *testing.T, folder string, environment []string, arguments ...string) string {
	t.Helper()
	command := exec.Command(filepath.Join(runtime.GOROOT(), "bin", "go"), arguments...)
	command.Dir = folder
	command.Env = append(append(os.Environ(), "GOFLAGS=", "GOWORK=off"), environment...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	return string(out)
}

// TestReadme: the first lines of the README work in a new module elsewhere, installed as it says.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	must(t, err)
	_, after, _ := strings.Cut(string(text), "```go\n")
	lines, _, found := strings.Cut(after, "```\n")
	if !found {
		t.Fatal("the README has no lines of Go")
	}
	here, err := filepath.Abs(".")
	must(t, err)
	d := newDaemon(t, "")
	folder := t.TempDir()
	program := "package main\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\n\tseqd \"seqd/client-lib/go\"\n)\n\n" +
		"func main() {\n\tif err := run(context.Background()); err != nil {\n\t\tpanic(err)\n\t}\n}\n\n" +
		"func run(ctx context.Context) error {\n" + lines + "fmt.Println(id)\nreturn err\n}\n"
	write := func(text string) { must(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(text), 0o644)) }
	write("package main\n\nfunc main() {}\n")
	goCommand(t, folder, nil, "mod", "init", "example.org/elsewhere")
	// Its steps in their order: commands, and the import between them.
	_, steps, _ := strings.Cut(string(text), "\n## Installing\n")
	steps, _, _ = strings.Cut(steps, "\n## ")
	commands := 0
	for _, line := range strings.Split(steps, "\n") {
		command, _, _ := strings.Cut(line, " # ")
		switch {
		case strings.HasPrefix(line, "    go "):
			goCommand(t, folder, nil, strings.Fields(strings.ReplaceAll(command, "/path/to/seqd/client-lib/go", here))[1:]...)
			commands++
		case strings.HasPrefix(line, "import "):
			write(program)
		}
	}
	same(t, commands, 2)
	same(t, goCommand(t, folder, []string{"SEQD_SOCKET=" + d.socket}, "run", "."), "1\n")
	// The calls in the table of clients of the project's README.
	project, err := os.ReadFile("../../README.md")
	must(t, err)
	_, row, _ := strings.Cut(string(project), "\n| [Go]")
	row, _, _ = strings.Cut(row, "\n")
	calls := strings.Split(row, "`")
	same(t, len(calls), 5)
	write(strings.Replace(program, lines, calls[1]+"\nif err != nil {\nreturn err\n}\ndefer client.Close()\n"+calls[3]+"\n", 1))
	same(t, goCommand(t, folder, []string{"SEQD_SOCKET=" + d.socket}, "run", "."), "1\n")
}

// TestExample: the example in client-lib/examples.
func TestExample(t *testing.T) {
	d := newDaemon(t, "")
	same(t, goCommand(t, ".", []string{"SEQD_SOCKET=" + d.socket}, "run", "../examples/next.go", "orders", "3"), "1\n2\n3\n")
}
