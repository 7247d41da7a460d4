package problem

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
)

// adder returns the problem of adding numbers of the given digits by a network of the given units.
func adder(t testing.TB, hidden, batch int, digits ...int) *Addition {
	t.Helper()
	p, err := Add("addition", AdditionNetworkConfig{Hidden: hidden, Initializer: nn.LecunUniform, Gain: 1}, AdditionConfig{batch, digits})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// below returns a number below n from a random word, uniform but for the word's 2^32 values.
func below(word uint32, n int) int { return int(uint64(word) * uint64(n) >> 32) }

// written returns the question of a sum and its answer, as tokens.
func written(first, second int, digits []int) (question, answer []uint32) {
	number := func(of, digits int) (tokens []uint32) {
		text := fmt.Sprintf("%0*d", digits, of)
		for _, c := range text[len(text)-digits:] {
			tokens = append(tokens, uint32(c-'0'))
		}
		return tokens
	}
	question = slices.Concat(number(first, digits[0]), []uint32{tokenPlus}, number(second, digits[1]), []uint32{tokenEnd})
	return question, append(number(first+second, max(digits[0], digits[1])), tokenEnd)
}

// TestWritten: the tokens of questions that the reference writes, as EvoJAX encodes them.
func TestWritten(t *testing.T) {
	for _, c := range []struct {
		first, second    int
		digits           []int
		question, answer []uint32
	}{
		{7, 345, []int{2, 3}, []uint32{0, 7, 10, 3, 4, 5, 14}, []uint32{3, 5, 2, 14}},
		{99, 999, []int{2, 3}, []uint32{9, 9, 10, 9, 9, 9, 14}, []uint32{0, 9, 8, 14}}, // modulo 1000
		{0, 0, []int{2, 3}, []uint32{0, 0, 10, 0, 0, 0, 14}, []uint32{0, 0, 0, 14}},
		{8, 5, []int{1, 1}, []uint32{8, 10, 5, 14}, []uint32{3, 14}},
	} {
		question, answer := written(c.first, c.second, c.digits)
		if !slices.Equal(question, c.question) || !slices.Equal(answer, c.answer) {
			t.Errorf("%d + %d is written %v, %v; want %v, %v", c.first, c.second, question, answer, c.question, c.answer)
		}
	}
}

// TestQuestions: the device draws the questions of the generator's words; members and batches differ, unless members share them; operands are
// uniform.
func TestQuestions(t *testing.T) {
	for _, digits := range [][]int{{2, 3}, {1, 1}, {4, 2}} {
		t.Run(fmt.Sprint(digits), func(t *testing.T) {
			const members, batch, stream = 2, 1001, 77
			p := adder(t, 3, batch, digits...)
			eng := engine.New(open(t), engine.Seed(9))
			s := eng.NewState()
			defer s.Close()
			x, err := p.newAnswered(s, members, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			number := s.Scratch("number", engine.Uint32, engine.Axis("count", 1))
			if err := s.Poison(t.Context()); err != nil {
				t.Fatal(err)
			}
			n1, n2 := int(math.Pow10(digits[0])), int(math.Pow10(digits[1]))
			var counts [2][10]int // of leading digits
			for i, apart := range []bool{true, false, true} {
				if err := number.WriteUint32(t.Context(), []uint32{uint32(i)}); err != nil {
					t.Fatal(err)
				}
				program, err := eng.Record("draw", func(r *engine.Recorder) { x.draw(r, stream, number, apart) })
				if err != nil {
					t.Fatal(err)
				}
				defer program.Free()
				if err := program.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				questions, err := x.questions.ReadUint32(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				answers, err := x.answers.ReadUint32(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for at := range members * batch {
					member := uint32(0)
					if apart {
						member = uint32(at / batch)
					}
					words := engine.Philox([2]uint32{9, stream}, [4]uint32{member, uint32(at % batch), uint32(i), 0})
					first, second := below(words[0], n1), below(words[1], n2)
					counts[0][first*10/n1]++
					counts[1][second*10/n2]++
					question, answer := written(first, second, digits)
					for k, want := range question {
						if got := questions[k*members*batch+at]; got != want {
							t.Fatalf("batch %d: %d + %d has token %d as %d; want %d", i, first, second, k, got, want)
						}
					}
					for k, want := range answer {
						if got := answers[k*members*batch+at]; got != want {
							t.Fatalf("batch %d: the answer to %d + %d has token %d as %d; want %d", i, first, second, k, got, want)
						}
					}
				}
			}
			// Chi-squared with 9 degrees of freedom is beyond 33.7 once in 10,000 times; half of a batch counts twice.
			for i, of := range counts {
				sum, want := 0.0, float64(3*members*batch)/10
				for _, n := range of {
					sum += (float64(n) - want) * (float64(n) - want) / want
				}
				if sum > 2*33.7 {
					t.Errorf("leading digits of operand %d: %v", i+1, of)
				}
			}
		})
	}
}

// reference64 evaluates a network on a question in float64: the logarithm of the answer's probability, and whether it is right in every token. near
// says that two tokens were almost equally likely, so that float32 may go on by another one.
func reference64(m nn.EncoderDecoder, row []float32, question, answer []uint32) (likelihood float64, hit, near bool) {
	layers, u := m.Layers(), m.Units
	h, c := make([]float64, u), make([]float64, u)
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	step := func(l nn.Layer, token uint32) {
		z := make([]float64, 4*u)
		for j := range z {
			z[j] = float64(row[l.Weight+int(token)*4*u+j]) + float64(row[l.Bias+j])
			for k := range u {
				z[j] += h[k] * float64(row[l.Recurrent+k*4*u+j])
			}
		}
		for j := range u {
			c[j] = logistic(z[u+j])*c[j] + logistic(z[j])*math.Tanh(z[2*u+j])
			h[j] = logistic(z[3*u+j]) * math.Tanh(c[j])
		}
	}
	for _, token := range question {
		step(layers[0], token)
	}
	hit = true
	token := uint32(tokenEqual)
	for _, want := range answer {
		step(layers[1], token)
		logits, sum := make([]float64, m.Vocabulary), 0.0
		token = 0
		for k := range logits {
			logits[k] = float64(row[layers[2].Bias+k])
			for j := range u {
				logits[k] += h[j] * float64(row[layers[2].Weight+j*m.Vocabulary+k])
			}
			sum += math.Exp(logits[k])
			if logits[k] > logits[token] {
				token = uint32(k)
			}
		}
		for k, v := range logits {
			near = near || k != int(token) && logits[token]-v < 1e-4
		}
		likelihood += logits[want] - math.Log(sum)
		hit = hit && token == want
	}
	return likelihood, hit, near
}

// TestAddition compares a generation's fitness and accuracy, and the evaluation, with their definition in float64.
func TestAddition(t *testing.T) {
	const members, population, batch, hidden = 2, 5, 13, 6
	digits := []int{1, 1}
	p := adder(t, hidden, batch, digits...)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	eng := engine.New(open(t), engine.Seed(7))
	s := eng.NewState()
	defer s.Close()
	clock := engine.NewClock(s)
	evaluation, err := p.New(t.Context(), s, clock, members, population)
	must(err)
	defer evaluation.Close()
	e := evaluation.(*additions)
	row := p.Space(members).Row()
	const first, window, episodes = 2, 3, 4
	if e.window != population {
		t.Fatalf("a window of %d of %d candidates", e.window, population)
	}
	e.scored, err = p.newAnswered(s.Sub("part"), members, window, 0)
	must(err)
	candidates := s.Scratch("candidates", engine.Float32, engine.Members(members*window), engine.Axis("parameter", row))
	fitness := s.Scratch("fitness", engine.Float32, engine.Members(members), engine.Axis("candidate", population))
	solutions := s.Scratch("solutions", engine.Float32, engine.Members(members), engine.Axis("parameter", row))
	chosen := s.Scratch("chosen", engine.Float32, engine.Members(members))
	each := s.Scratch("each", engine.Float32, engine.Members(members), engine.Axis("episode", episodes))
	choose, err := e.Fitness(t.Context(), s.Sub("choice"), solutions, episodes)
	must(err)
	must(s.Zero(t.Context()))
	must(s.Poison(t.Context()))
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = 2 * float32(rng.NormFloat64())
		}
		return x
	}
	// mean returns the fitness and the accuracy of a row of parameters on a batch, and in how many questions float32 may go on otherwise.
	mean := func(w []float32, stream, member, number uint32) (fitness, accuracy float64, near int) {
		for b := range uint32(batch) {
			words := engine.Philox([2]uint32{7, stream}, [4]uint32{member, b, number, 0})
			question, answer := written(below(words[0], 10), below(words[1], 10), digits)
			likelihood, hit, close := reference64(p.model(), w, question, answer)
			fitness += likelihood / (batch * 3) // a digit, EOS and a masked token
			if hit {
				accuracy += 1.0 / batch
			}
			if close {
				near++
			}
		}
		return fitness, accuracy, near
	}
	// some returns rows of parameters that give a right answer to some question of the first batch.
	some := func(rows, each int, stream uint32, apart bool) (all []float32) {
		for n := range rows {
			member := 0
			if apart {
				member = n / each
			}
			for {
				w := random(row)
				if _, accuracy, _ := mean(w, stream, uint32(member), 0); accuracy > 0 {
					all = append(all, w...)
					break
				}
			}
		}
		return all
	}
	x, y := some(members*window, window, e.stream, true), some(members, 1, s.Stream("test"), false)
	must(candidates.WriteFloat32(t.Context(), x))
	must(solutions.WriteFloat32(t.Context(), y))
	program, err := eng.Record("generation", func(r *engine.Recorder) {
		e.scored.draw(r, e.stream, clock.Tensor(), true)
		e.scored.score(r, e.scored.rows(candidates), scores{fitness: fitness, accuracy: e.accuracy, first: first, factor: 1})
		choose(r, chosen)
		choose(r, each)
		clock.Tick(r, 1, 0)
	})
	must(err)
	defer program.Free()
	equal := func(what string, got float32, want float64) {
		t.Helper()
		if !(math.Abs(float64(got)-want) <= 2e-5*(1+math.Abs(want))) {
			t.Errorf("%s %g; want %g", what, got, want)
		}
	}
	compared, right := 0, 0.0
	for iteration := range uint32(3) {
		must(program.Run(t.Context()))
		got, err := fitness.ReadFloat32(t.Context())
		must(err)
		hits, err := e.accuracy.ReadFloat32(t.Context())
		must(err)
		for at := range members * population {
			m, i := at/population, at%population
			if i < first || i >= first+window {
				if got[at] == got[at] || hits[at] == hits[at] {
					t.Errorf("candidate %d, outside of the window, was written: %g, %g", i, got[at], hits[at])
				}
				continue
			}
			likelihood, accuracy, near := mean(x[(m*window+i-first)*row:], e.stream, uint32(m), iteration)
			if near == 0 {
				equal("fitness", got[at], likelihood)
				equal("accuracy", hits[at], accuracy)
				compared++
				right += accuracy
			}
		}
	}
	if compared < 12 || right == 0 {
		t.Errorf("%d of 18 fitnesses compared, others had tokens that were equally likely; accuracies of %g in all", compared, right)
	}
	tested, err := e.Evaluate(t.Context(), solutions, episodes)
	must(err)
	picked, err := chosen.ReadFloat32(t.Context())
	must(err)
	shares, err := each.ReadFloat32(t.Context())
	must(err)
	for m := range members {
		sum := 0.0
		for i := range episodes {
			_, accuracy, near := mean(y[m*row:], s.Stream("test"), 0, uint32(i))
			if near == 0 {
				equal("test accuracy", tested.Returns[m][i], accuracy)
			}
			_, accuracy, near = mean(y[m*row:], s.Stream("selection"), 0, uint32(i))
			if near == 0 {
				equal("accuracy of a batch", shares[m*episodes+i], accuracy)
			}
			sum += float64(shares[m*episodes+i]) / episodes
		}
		equal("accuracy of a choice", picked[m], sum)
	}
}

// TestAdditionLearns: PGPE with a small network learns how answers are written, a digit and EOS. Who gives every token its frequency among all answers, a half
// to EOS and a twentieth to each digit, has a fitness of -1.23; who knows which token is EOS, -0.77; more takes addition.
func TestAdditionLearns(t *testing.T) {
	p := adder(t, 32, 64, 1, 1)
	algorithm := ec.DefaultPGPE()
	algorithm.Optimizer, algorithm.Population, algorithm.LearningRate, algorithm.DeviationRate, algorithm.InitStd = optim.Adam, 64, 0.03, 0.03, 0.05
	s, err := ec.NewSearch(t.Context(), engine.New(open(t), engine.Seed(3)), algorithm, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	const generations = 75
	var first, last float32
	for i := range generations {
		ticket, err := s.Step(t.Context(), i)
		if err == nil {
			err = ticket.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		row, err := s.Metrics().Read(i)
		if err != nil {
			t.Fatal(err)
		}
		if last = row["fitness/mean"][0]; i == 0 {
			first = last
		}
	}
	frequencies := float32((math.Log(1.0/2) + math.Log(1.0/20)) / 3)
	if t.Logf("fitness %g, then %g", first, last); !(first < frequencies && last > frequencies+0.3) {
		t.Errorf("fitness %g after %d generations, %g in the first; want more than %g, and less at first", last, generations, first, frequencies+0.3)
	}
}

// TestAdditionErrors: settings that make no questions are errors at their key.
func TestAdditionErrors(t *testing.T) {
	for want, cfg := range map[string]AdditionConfig{
		"want two": {Batch: 1, Digits: []int{3}}, "digits": {Batch: 1, Digits: []int{3, 7}}, "batch": {Digits: []int{1, 1}},
	} {
		if _, err := Add("addition", DefaultAdditionNetwork(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; want %q", cfg, err, want)
		}
	}
}
