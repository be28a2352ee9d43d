import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.cep.nfa.NFA;
import org.apache.flink.cep.nfa.NFAState;
import org.apache.flink.cep.nfa.State;
import org.apache.flink.cep.nfa.StateTransition;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.nfa.compiler.NFACompiler;
import org.apache.flink.cep.nfa.sharedbuffer.SharedBuffer;
import org.apache.flink.cep.nfa.sharedbuffer.SharedBufferAccessor;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * What FlinkCEP finds. In (standard input, a line each): the events as an array, then queries {id, pattern}. Out
 * (standard output, a line each): {id, matches, at, tests, cpu_us, endless?}, where {@code at} is the number of the event
 * at which each match came out. Arguments: how many tests of conditions a query may take, and how many times all
 * queries run (the last time counts; the others let the JVM compile).
 *
 * <p>FlinkCEP's own compiler, automaton and buffer are driven as its operator drives them: for each event, time is
 * advanced to it, then it is processed. The keyed state below is a map in memory.
 */
public final class FlinkAnswers {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();

    private FlinkAnswers() {}

    public static void main(String[] arguments) throws Exception {
        int limit = Integer.parseInt(arguments[0]);
        int passes = Integer.parseInt(arguments[1]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        List<Event> events = new ArrayList<>();
        JSON.readTree(in.readLine()).forEach(event -> events.add(new Event(event)));
        List<JsonNode> queries = new ArrayList<>();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            queries.add(JSON.readTree(line));
        }
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (int pass = 1; pass <= passes; pass++) {
            for (JsonNode query : queries) {
                ObjectNode answer = new Run(query, limit).answer(events);
                if (pass == passes) {
                    out.println(JSON.writeValueAsString(answer));
                }
            }
        }
        out.flush();
    }

    /** One query on all events. */
    private static final class Run {
        private final JsonNode query;
        private final TestCount count;
        private final ObjectNode answer = JSON.createObjectNode();
        private final ArrayNode matches = answer.putArray("matches");
        private final ArrayNode at = answer.putArray("at");

        Run(JsonNode query, int limit) {
            this.query = query;
            this.count = new TestCount(limit);
        }

        ObjectNode answer(List<Event> events) throws Exception {
            answer.set("id", query.get("id"));
            long begun = CLOCK.getCurrentThreadCpuTime();
            try {
                process(events);
            } catch (TestCount.Exceeded exceeded) {
                endless();
            } catch (Exception wrapped) {
                if (!(rootOf(wrapped) instanceof TestCount.Exceeded)) {
                    throw wrapped;
                }
                endless();
            }
            answer.put("tests", count.tests);
            answer.put("cpu_us", (CLOCK.getCurrentThreadCpuTime() - begun) / 1e3);
            return answer;
        }

        private void endless() {
            matches.removeAll();
            at.removeAll();
            answer.put("endless", true);
        }

        private static Throwable rootOf(Throwable error) {
            return error.getCause() == null ? error : rootOf(error.getCause());
        }

        private void process(List<Event> events) throws Exception {
            Pattern<Event, ?> pattern = QueryPattern.of(query.get("pattern"));
            AfterMatchSkipStrategy skip = pattern.getAfterMatchSkipStrategy();
            NFA<Event> automaton = NFACompiler.compileFactory(pattern, false).createNFA();
            for (State<Event> state : automaton.getStates()) {
                for (StateTransition<Event> transition : state.getStateTransitions()) {
                    transition.setCondition(count.counted(transition.getCondition()));
                }
            }
            NFAState state = automaton.createInitialNFAState();
            SharedBuffer<Event> buffer = new SharedBuffer<>(StateInMemory.store(), neverUsed());
            try {
                for (Event event : events) {
                    try (SharedBufferAccessor<Event> accessor = buffer.getAccessor()) {
                        add(event, AdvanceTime.call(automaton, accessor, state, event.time, skip));
                    }
                    try (SharedBufferAccessor<Event> accessor = buffer.getAccessor()) {
                        add(event, automaton.process(accessor, state, event, event.time, skip, () -> event.time));
                    }
                }
            } finally {
                buffer.releaseCacheStatisticsTimer();
            }
        }

        private void add(Event now, Iterable<Map<String, List<Event>>> found) {
            for (Map<String, List<Event>> match : found) {
                ObjectNode variables = matches.addObject();
                match.forEach((name, taken) -> taken.forEach(event -> variables.withArray(name).add(event.id)));
                at.add(now.id);
            }
        }
    }

    /** Counts tests of conditions, those of transitions that always hold too: FlinkCEP's endless loops pass there. */
    private static final class TestCount {
        private final int limit;
        int tests;

        TestCount(int limit) {
            this.limit = limit;
        }

        IterativeCondition<Event> counted(IterativeCondition<Event> condition) {
            return new IterativeCondition<Event>() {
                @Override
                public boolean filter(Event event, Context<Event> taken) throws Exception {
                    if (++tests > limit) {
                        throw new Exceeded();
                    }
                    return condition == null || condition.filter(event, taken);
                }
            };
        }

        /** The query takes more tests than it may. */
        static final class Exceeded extends RuntimeException {
            private static final long serialVersionUID = 1L;

            Exceeded() {
                super(null, null, false, false);
            }
        }
    }

    /** {@code NFA.advanceTime}, which has had one more parameter since Flink 1.17. */
    private static final class AdvanceTime {
        private static final Method METHOD = method();

        private static Method method() {
            for (Method method : NFA.class.getMethods()) {
                if (method.getName().equals("advanceTime")) {
                    return method;
                }
            }
            throw new AssertionError("NFA has no advanceTime");
        }

        @SuppressWarnings("unchecked")
        static Iterable<Map<String, List<Event>>> call(
                NFA<Event> automaton,
                SharedBufferAccessor<Event> accessor,
                NFAState state,
                long time,
                AfterMatchSkipStrategy skip)
                throws Exception {
            Object due =
                    METHOD.getParameterCount() == 4
                            ? METHOD.invoke(automaton, accessor, state, time, skip)
                            : METHOD.invoke(automaton, accessor, state, time);
            return ((Tuple2<Iterable<Map<String, List<Event>>>, ?>) due).f0;
        }
    }

    /** The buffer wants a serializer of events, but writes nothing where its state is in memory. */
    @SuppressWarnings("unchecked")
    private static TypeSerializer<Event> neverUsed() {
        return (TypeSerializer<Event>) (TypeSerializer<?>) LongSerializer.INSTANCE;
    }
}
